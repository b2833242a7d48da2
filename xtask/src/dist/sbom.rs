//! The software bill of materials of a platform's program: CycloneDX 1.5 as JSON, from cargo's tree of dependencies.
//!
//! It lists the crates that are compiled into the program, without those of build scripts, macros and tests.

use super::pack;
use crate::platform::Platform;
use crate::programs::{cargo, stdout_of};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

const PROGRAM: &str = "longhaul-cli";

#[derive(Deserialize)]
struct Lock {
    package: Vec<LockedPackage>,
}

#[derive(Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    /// `None` for a crate of this workspace.
    checksum: Option<String>,
}

/// A crate by name and version.
type CrateId = (String, String);

struct CrateEntry {
    license: String,
    needs: BTreeSet<CrateId>,
}

pub fn write(root: &Path, platform: Platform, out: &Path, time: u64) -> io::Result<PathBuf> {
    let args =
        ["tree", "--locked", "--package", PROGRAM, "--edges", "normal,no-proc-macro", "--prefix", "depth"];
    let format = ["--format", " {p}\t{l}\t", "--target", platform.triple];
    let tree = stdout_of(cargo().args(args).args(format).current_dir(root))?;
    let crates =
        parse(&tree).ok_or_else(|| io::Error::other(format!("cannot read cargo's tree:\n{tree}")))?;
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    let lock: Lock = toml::from_str(&lock).map_err(io::Error::other)?;
    let checksums = lock
        .package
        .into_iter()
        .filter_map(|package| Some(((package.name, package.version), package.checksum?)));
    let bill = bill(&crates, &checksums.collect(), time)?;
    let path = out.join(format!("{}.cdx.json", pack::name(platform)));
    fs::write(&path, serde_json::to_string_pretty(&bill)? + "\n")?;
    Ok(path)
}

/// Parses lines such as `2 serde v1.0.228<tab>MIT OR Apache-2.0<tab>`: depth, crate and license. Cargo prints the
/// dependencies of each crate once.
fn parse(tree: &str) -> Option<BTreeMap<CrateId, CrateEntry>> {
    let mut crates: BTreeMap<CrateId, CrateEntry> = BTreeMap::new();
    let mut path: Vec<CrateId> = Vec::new();
    for line in tree.lines() {
        let (depth, line) = line.split_once(' ')?;
        let mut columns = line.split('\t');
        let mut words = columns.next()?.split(' ');
        let id = (words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned());
        path.truncate(depth.parse().ok()?);
        if let Some(parent) = path.last() {
            crates.get_mut(parent)?.needs.insert(id.clone());
        }
        let license = columns.next()?.to_owned();
        crates.entry(id.clone()).or_insert(CrateEntry { license, needs: BTreeSet::new() });
        path.push(id);
    }
    Some(crates)
}

fn bill(
    crates: &BTreeMap<CrateId, CrateEntry>,
    checksums: &BTreeMap<CrateId, String>,
    time: u64,
) -> io::Result<Value> {
    let (programs, libraries): (Vec<_>, Vec<_>) = crates.iter().partition(|(id, _)| id.0 == PROGRAM);
    let components: Vec<Value> =
        libraries.iter().map(|(id, entry)| component(id, entry, "library", checksums.get(id))).collect();
    let program = programs.first().map(|(id, entry)| component(id, entry, "application", None));
    let dependencies: Vec<Value> = crates
        .iter()
        .map(|(id, entry)| {
            let needs: Vec<String> = entry.needs.iter().map(purl).collect();
            json!({ "ref": purl(id), "dependsOn": needs })
        })
        .collect();
    let seconds = i64::try_from(time).map_err(io::Error::other)?;
    let timestamp = jiff::Timestamp::from_second(seconds).map_err(io::Error::other)?.to_string();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "timestamp": timestamp, "component": program },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn component(id: &CrateId, entry: &CrateEntry, kind: &str, checksum: Option<&String>) -> Value {
    let (name, version) = id;
    let mut component = json!({
        "type": kind,
        "bom-ref": purl(id),
        "name": if name == PROGRAM { "longhaul" } else { name },
        "version": version,
        "purl": purl(id),
    });
    if !entry.license.is_empty() {
        // Old manifests separate alternatives with a slash.
        component["licenses"] = json!([{ "expression": entry.license.replace('/', " OR ") }]);
    }
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// Returns the package URL of a crate.
fn purl((name, version): &CrateId) -> String {
    format!("pkg:cargo/{name}@{version}")
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::platform::PLATFORMS;
    use serde_json::Value;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    #[test]
    fn bill_lists_compiled_crates_with_licenses_and_checksums() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let out = tempfile::tempdir().expect("a temporary directory");
        let [linux, _, macos] = PLATFORMS.map(|platform| {
            let path = write(root, platform, out.path(), 1_700_000_000).expect("cargo runs");
            serde_json::from_str::<Value>(&fs::read_to_string(path).expect("written")).expect("JSON")
        });
        assert_eq!(linux["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
        assert_eq!(linux["metadata"]["component"]["name"], "longhaul");
        let components = linux["components"].as_array().expect("components");
        let names: BTreeSet<&str> =
            components.iter().filter_map(|component| component["name"].as_str()).collect();
        for (name, is_compiled_in) in
            [("tokio", true), ("longhaul-core", true), ("serde_derive", false), ("proptest", false)]
        {
            assert_eq!(names.contains(name), is_compiled_in, "{name}");
        }
        for component in components {
            assert!(component["licenses"][0]["expression"].is_string(), "{component}");
            let is_ours = component["name"].as_str().is_some_and(|name| name.starts_with("longhaul"));
            assert_eq!(component["hashes"][0]["content"].is_string(), !is_ours, "{component}");
        }
        let references: BTreeSet<&str> = linux["dependencies"]
            .as_array()
            .expect("dependencies")
            .iter()
            .filter_map(|dependency| dependency["ref"].as_str())
            .collect();
        assert_eq!(references.len(), components.len() + 1);
        assert_ne!(linux["components"], macos["components"], "each platform has crates of its own");
    }
}
