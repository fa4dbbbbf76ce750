//! `src/ffi.rs` says the same as `sim/capi/wizloop.h`: a C compiler is given both.

use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

#[allow(dead_code)] // its declarations are looked at, not used
#[path = "../src/ffi.rs"]
mod ffi;
const FFI: &str = include_str!("../src/ffi.rs");

/// The C type of a Rust type of `ffi.rs`.
fn c_type(rust: &str) -> String {
    if let Some(to) = rust.strip_prefix("*const ") {
        // What a const pointer points to is const itself, where it is a pointer too.
        return format!("{} const *", c_type(to));
    }
    if let Some(to) = rust.strip_prefix("*mut ") {
        return format!("{} *", c_type(to));
    }
    match rust {
        "c_char" => "char",
        "c_int" => "int",
        "c_void" => "void",
        "f64" => "double",
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        name => name,
    }
    .into()
}

/// "name: type" pairs of a list.
fn pairs(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.split(',').filter_map(|pair| pair.trim().trim_start_matches("pub ").split_once(": "))
}

/// `text` cut into what stands between `begin` and `end`, each time.
fn between<'a>(text: &'a str, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).map(move |rest| rest.split(end).next().unwrap())
}

fn constants(lines: &mut Vec<String>) {
    for constant in between(FFI, "pub const ", ";") {
        let (name, value) = constant.split_once(" = ").unwrap();
        let name = name.split(':').next().unwrap();
        lines.push(format!("_Static_assert({name} == {value}, \"{name}\");"));
    }
}

fn functions(lines: &mut Vec<String>) {
    for function in between(FFI, "pub fn ", ";") {
        let (name, rest) = function.split_once('(').unwrap();
        let (parameters, result) = rest.split_once(')').unwrap();
        let parameters: Vec<_> = pairs(parameters).map(|(_, of)| c_type(of)).collect();
        let parameters = if parameters.is_empty() { "void".into() } else { parameters.join(", ") };
        let result = c_type(result.trim().trim_start_matches("-> "));
        lines.push(format!("{result} {name}({parameters});"));
    }
}

macro_rules! layout {
    ($lines:ident, $name:ident: $($field:ident)+) => {
        let name = stringify!($name);
        $lines.push(format!("_Static_assert(sizeof({name}) == {}, \"{name}\");", size_of::<ffi::$name>()));
        $(
            let (field, at) = (stringify!($field), offset_of!(ffi::$name, $field));
            $lines.push(format!("_Static_assert(offsetof({name}, {field}) == {at}, \"{name}.{field}\");"));
        )+
    };
}

/// A C program that does not compile where the two differ.
fn program() -> Vec<String> {
    let mut lines = vec![String::from("#include \"wizloop.h\"")];
    constants(&mut lines);
    functions(&mut lines);
    layout!(lines, wizloop_config: size abi name board seed settings setting_count pcap_file trace_file station
        poll_limit_ns run_limit_ns on_hang);
    layout!(lines, wizloop_station: transmit context);
    layout!(lines, wizloop_segment: mosi miso bytes);
    layout!(lines, wizloop_finding: rule severity seen spi state at_ps count);
    lines
}

#[test]
fn the_declarations_are_those_of_the_header() {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../sim/capi");
    let lines = program();
    assert!(lines.len() > 80, "{lines:#?}");
    let c = lines.join("\n") + "\n";
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_header.c");
    std::fs::write(&file, &c).unwrap();
    let output = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([&header, &file])
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}\n{c}", String::from_utf8_lossy(&output.stderr));
}
