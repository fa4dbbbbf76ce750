//! Finds libwizloop.a: in the folder WIZLOOP_LIB_DIR, else where pkg-config says that wizloop is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

const HOW: &str = "\
Build it in a checkout of wizloop and say where it is:
    cmake --preset release && cmake --build build/release --target wizloop_archive
    export WIZLOOP_LIB_DIR=$PWD/build/release/sim/capi
or install it and let pkg-config find it:
    cmake --install build/release --component sdk --prefix ~/wizloop-sdk
    export PKG_CONFIG_PATH=~/wizloop-sdk/lib/pkgconfig";

fn by_pkg_config() -> Result<PathBuf, String> {
    let program = std::env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let output = Command::new(&program)
        .args(["--print-errors", "--variable=prefix", "wizloop"])
        .output()
        .map_err(|error| format!("WIZLOOP_LIB_DIR is not set, and {program} does not start: {error}"))?;
    if output.status.success() {
        // It escapes the spaces of a path, as for a shell.
        let prefix = String::from_utf8_lossy(&output.stdout).trim().replace("\\ ", " ");
        return Ok(PathBuf::from(prefix).join("lib"));
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!("WIZLOOP_LIB_DIR is not set, and {program} knows no wizloop: {}", why.lines().next().unwrap_or("")))
}

fn archive() -> Result<PathBuf, String> {
    let (folder, source) = match std::env::var_os("WIZLOOP_LIB_DIR") {
        Some(folder) => (PathBuf::from(folder), "WIZLOOP_LIB_DIR"),
        None => (by_pkg_config()?, "pkg-config"),
    };
    let archive = folder.join("libwizloop.a");
    match archive.is_file() {
        true => Ok(archive),
        false => Err(format!("{source} says {}, where there is no libwizloop.a", folder.display())),
    }
}

fn main() {
    println!("cargo::rerun-if-env-changed=WIZLOOP_LIB_DIR");
    println!("cargo::rerun-if-env-changed=PKG_CONFIG");
    println!("cargo::rerun-if-env-changed=PKG_CONFIG_PATH");
    let archive = archive().unwrap_or_else(|why| {
        eprintln!("the library of wizloop is missing: {why}\n{HOW}");
        std::process::exit(1);
    });
    let folder = archive.parent().unwrap_or(Path::new("."));
    println!("cargo::rerun-if-changed={}", archive.display());
    println!("cargo::rustc-link-search=native={}", folder.display());
    // The archive rather than the shared library: a test then starts anywhere, with no path to be set for its loader.
    println!("cargo::rustc-link-lib=static=wizloop");
    for library in ["fmt", "tomlplusplus", "stdc++", "m", "dl"] {
        println!("cargo::rustc-link-lib=dylib={library}");
    }
}
