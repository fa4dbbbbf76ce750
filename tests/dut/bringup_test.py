"""A board as it comes out of the box: who it is, whether its chip is there and keeps what is written to it."""

import pytest
from bodies import code_of
from wizloop.dut.plugin import announces, needs


def test_it_says_who_it_is(dut):
    hello = dut.ask("hello")
    assert hello["agent"] == "1"
    assert hello["chip"] == "W5500"
    assert hello["board"]
    assert hello.number("line") >= 128
    assert "byte" in hello["caps"].split(",")


def test_the_chip_shows_its_version(dut):
    assert dut.ask("reg", block="common", offset="0x39")["data"] == "04"


def test_every_path_reads_the_same_version(dut):
    for path in dut.paths:
        assert dut.ask("path", p=path)["p"] == path
        assert dut.ask("reg", block="common", offset="0x39")["data"] == "04"


def test_every_register_and_buffer_keeps_what_is_written(dut):
    done = dut.ask("selftest")
    counts = {key: value for key, value in done.fields.items() if key.startswith("bad_")}
    assert counts and set(counts.values()) == {"0"}
    assert done["spi_errors"] == "0"


def test_addresses_are_taken_and_told(dut):
    given = {"mac": "02:00:00:00:01:77", "ip": "192.168.1.77", "mask": "255.255.255.0", "gw": "192.168.1.1"}
    before = {key: dut.ask("net")[key] for key in given}
    told = dut.ask("net", **given)
    assert {key: told[key] for key in given} == given
    assert dut.ask("reg", block="common", offset="0x0F", count=4)["data"] == "C0A8014D"
    dut.ask("net", **before)


def test_a_reset_of_the_chip_gives_it_its_addresses_again(dut):
    before = dut.ask("net")
    dut.ask("net", rtr_us=100_000, rcr=3)
    assert dut.ask("reset").number("us") > 0
    after = dut.ask("net")
    assert [after[key] for key in ("mac", "ip", "mask", "gw")] == [before[key] for key in ("mac", "ip", "mask", "gw")]
    assert (after["rtr_us"], after["rcr"]) == ("200000", "8")


def test_retransmission_is_set_in_steps_of_the_chip(dut):
    told = dut.ask("net", rtr_us=50_000, rcr=3)
    assert (told["rtr_us"], told["rcr"]) == ("50000", "3")
    assert dut.ask("reg", block="common", offset="0x19", count=3)["data"] == "01F403"
    assert code_of(dut, "net", rtr_us=50) == "bad-value"


def test_the_link_comes_up_at_100_mbit_s(dut):
    link = dut.wait_for_link()
    assert (link["up"], link["mbit_s"], link["duplex"]) == ("1", "100", "full")
    assert int(link["phycfgr"], 16) & 0x07 == 0x07


@pytest.mark.parametrize(("mode", "mbit_s"), [("10-half", "10"), ("100-half", "100"), ("auto", "100")])
def test_the_link_comes_up_in_each_mode(dut, mode, mbit_s):
    link = dut.ask("link", mode=mode, wait_ms=10_000)
    assert (link["up"], link["mbit_s"]) == ("1", mbit_s)


def test_a_phy_that_is_off_has_no_link(dut):
    assert dut.ask("link", mode="off", wait_ms=100)["up"] == "0"
    assert dut.ask("link", mode="auto", wait_ms=10_000)["up"] == "1"


def test_socket_registers_and_buffers_are_written_and_read(dut):
    for block, offset, data in (("s3", "0x0C", "C0A80105"), ("s0-tx", 2046, "A55A"), ("s7-rx", 0, "00112233445566")):
        dut.ask("reg", block=block, offset=offset, data=data)
        assert dut.ask("reg", block=block, offset=offset, count=len(data) // 2)["data"] == data


def test_a_buffer_wraps_at_its_end(dut):
    dut.ask("reg", block="s1-tx", offset=2047, data="AABB")  # 2 KiB each: the second byte is the first of the ring
    assert dut.ask("reg", block="s1-tx", offset=0)["data"] == "BB"


@needs("full")
def test_frames_go_over_the_pins_as_they_are(dut):
    answer = dut.ask("spi", tx="00390000,003900+,+00")
    whole, _, last = answer["rx"].split(",")
    assert whole.endswith("04")
    assert last == "04"
    dut.ask("reset")


def test_what_it_does_not_know_it_says(dut):
    assert code_of(dut, "brew") == "unknown-verb"
    assert code_of(dut, "net", colour="red") == "unknown-key"
    assert code_of(dut, "net", ip="300.1.2.3") == "bad-value"
    assert code_of(dut, "reg", block="common") == "missing-key"
    assert code_of(dut, "path", p="warp") in ("bad-value", "not-supported")
    verbs = dut.ask("help")["verbs"].split(",")
    assert {"hello", "help", "reset", "net", "link", "path", "reg", "spi", "stats", "selftest", "tcp-echo"} <= set(
        verbs
    )


def test_it_counts_what_it_does(dut):
    dut.ask("stats", clear=1)
    dut.ask("hello")
    code_of(dut, "brew")
    stats = dut.ask("stats")
    assert stats.number("requests") >= 2
    assert stats.number("errors") == 1
    assert stats.number("spi_errors") == 0


@needs("rst")
@announces("access-before-pll-lock", "it is read in reset on purpose")
@announces("wrong-version", "it is read in reset on purpose")
def test_rstn_held_low_silences_the_chip(dut):
    dut.ask("reset", pin="low")
    assert dut.ask("reg", block="common", offset="0x39")["data"] != "04"
    dut.ask("reset", pin="high")
    dut.ask("reset")
    assert dut.ask("reg", block="common", offset="0x39")["data"] == "04"
