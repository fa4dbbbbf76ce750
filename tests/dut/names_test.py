"""What a board asks its network: an address, a name, whether somebody is there."""

import pytest
from bodies import code_of, nobody_near
from wizloop.dut.plugin import needs

pytestmark = needs("full", "host")


@needs("dhcp")
def test_an_address_is_leased(online, peer):
    peer.dhcp()
    lease = online.ask("dhcp", host="board-17")
    assert lease["ip"] != "0.0.0.0"
    assert lease.number("lease_s") > 0
    assert online.ask("net")["ip"] == lease["ip"]


@needs("lan")
def test_a_server_that_refuses_is_asked_again(online, peer):
    peer.dhcp(refused_requests=1)
    lease = online.ask("dhcp", probe=0)
    assert lease.number("naks") == 1
    assert lease["ip"] != "0.0.0.0"


@needs("lan")
def test_a_lost_offer_is_made_up_for(online, peer):
    peer.dhcp(ignored_discovers=1, ignored_requests=1)
    lease = online.ask("dhcp", probe=0)
    assert lease.number("sent") >= 4


@needs("lan")
def test_without_a_server_the_addresses_stay(online):
    before = online.ask("net")["ip"]
    assert code_of(online, "dhcp", timeout_ms=8000) in ("no-answer", "timeout")
    assert online.ask("net")["ip"] == before


@needs("lan")
def test_a_name_is_looked_up(online, peer):
    peer.dns({"broker.lan": "192.168.1.10"})
    answer = online.ask("dns", name="broker.lan", server=peer.ip)
    assert answer["ip"] == "192.168.1.10"
    assert answer.number("ttl_s") > 0


@needs("lan")
def test_a_name_that_does_not_exist(online, peer):
    peer.dns({"broker.lan": "192.168.1.10"})
    assert code_of(online, "dns", name="nobody.lan", server=peer.ip) == "no-such-name"


@needs("lan")
def test_a_lost_question_is_asked_again(online, peer):
    peer.dns({"broker.lan": "192.168.1.10"}, ignored_queries=1)
    assert online.ask("dns", name="broker.lan", server=peer.ip)["ip"] == "192.168.1.10"


@needs("lan")
def test_a_name_server_that_is_silent(online, peer):
    peer.dns({"broker.lan": "192.168.1.10"}, ignored_queries=1000)
    assert code_of(online, "dns", name="broker.lan", server=peer.ip) in ("no-answer", "timeout")


@pytest.mark.parametrize("size", [0, 32, 1472])
def test_pings_come_back(online, peer, size):
    done = online.ask("ping-stats", ip=peer.ip, count=5, size=size, interval_ms=50)
    assert (done["sent"], done["received"], done["bad"]) == ("5", "5", "0")
    assert done.number("rtt_min_us") <= done.number("rtt_avg_us") <= done.number("rtt_max_us")


@needs("lan")
def test_pings_to_nobody_are_lost(online):
    done = online.ask("ping-stats", ip=nobody_near(online), count=2, interval_ms=20, wait_ms=50)
    assert (done["received"], done["lost"]) == ("0", "2")
