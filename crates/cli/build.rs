//! Packs the JSON Schemas into the program, and links it at a fixed address on Linux.
//!
//! A program that can be loaded anywhere has 66,000 pointers to adjust at each start, in 250 pages of private memory.
//! Each run starts Longhaul twice, and each hook of an agent once more. The price is that the program's own address is not
//! random; its libraries, heap and stacks still have random addresses.

// Cargo reads a build script's stdout.
#![allow(clippy::disallowed_macros)]

use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs, io};

const SCHEMAS: &str = "../../docs/schemas";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCHEMAS}");
    pack_schemas()?;
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|found| found.contains("crt-static"));
    // The linker of static programs selects other startup objects itself: `xtask dist` asks the compiler instead.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    Ok(())
}

/// Writes the texts of all schemas by name: one JSON object, compressed.
fn pack_schemas() -> io::Result<()> {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(SCHEMAS)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_suffix(".schema.json"));
        if let Some(name) = name {
            texts.insert(name.to_owned(), fs::read_to_string(&path)?);
        }
    }
    let directory = env::var("OUT_DIR").map_err(io::Error::other)?;
    let file = fs::File::create(Path::new(&directory).join("schemas.json.gz"))?;
    let mut packed = GzEncoder::new(file, Compression::default());
    serde_json::to_writer(&mut packed, &texts)?;
    packed.finish()?;
    Ok(())
}
