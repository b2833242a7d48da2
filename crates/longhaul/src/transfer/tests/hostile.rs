//! Damaged or hostile files: each is refused, and nothing is created.

use super::Homes;
use crate::transfer::manifest::{Manifest, is_name};
use crate::transfer::{ImportDestination, TransferError, import};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use tar::{EntryType, Header};

/// An archive entry without any validation.
struct Raw {
    name: String,
    kind: EntryType,
    content: Vec<u8>,
}

/// Reads the entries of an export.
fn entries(path: &Path) -> Vec<Raw> {
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(File::open(path).expect("a file")));
    let entries = tar.entries().expect("entries").map(|entry| {
        let mut entry = entry.expect("an entry");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("content");
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        Raw { name, kind: entry.header().entry_type(), content }
    });
    entries.collect()
}

fn write(path: &Path, entries: &[Raw]) {
    let mut gz = GzEncoder::new(File::create(path).expect("a file"), Compression::fast());
    for Raw { name, kind, content } in entries {
        let mut header = Header::new_ustar();
        // Written directly, because the crate's setter refuses names that lead elsewhere.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        if *kind == EntryType::Symlink {
            header.set_link_name("/etc/passwd").expect("a name");
        }
        header.set_cksum();
        gz.write_all(header.as_bytes()).expect("written");
        gz.write_all(content).expect("written");
        gz.write_all(&vec![0; content.len().next_multiple_of(512) - content.len()]).expect("written");
    }
    gz.write_all(&[0; 1024]).expect("written");
    gz.finish().expect("written");
}

fn change(entries: &mut [Raw], change: impl FnOnce(&mut Value)) {
    let mut manifest = serde_json::from_slice(&entries[0].content).expect("a manifest");
    change(&mut manifest);
    entries[0].content = serde_json::to_vec(&manifest).expect("JSON");
}

/// Imports a spoiled export. Asserts that it is refused with this message and that nothing remains.
fn refused(message: &str, spoil: impl FnOnce(&mut Vec<Raw>)) {
    let from = Homes::new();
    from.create_run();
    let mut entries = entries(&from.export().file);
    spoil(&mut entries);
    let to = Homes::new();
    let file = to.path("file");
    write(&file, &entries);
    refused_file(&to, &file, message);
}

fn refused_file(to: &Homes, file: &Path, message: &str) {
    let into = to.path("work");
    let error = import(&to.home, file, to.as_is(&into)).expect_err(message);
    assert!(error.to_string().contains(message), "`{message}` is not in `{error}`");
    assert!(error.hint().is_some(), "{error} has no hint");
    assert_eq!(fs::read_dir(to.home.runs_path()).expect("runs").count(), 0, "{error}");
    assert_eq!(fs::read_dir(into).expect("work").count(), 0, "{error}");
    let mut remaining: Vec<_> =
        fs::read_dir(to.home.path()).expect("home").map(|entry| entry.expect("entry").file_name()).collect();
    remaining.retain(|name| name != "runs");
    assert_eq!(remaining, [""; 0], "{error}");
}

#[test]
fn imports_a_valid_file() {
    let (from, to) = (Homes::new(), Homes::new());
    from.create_run();
    let exported = from.export();
    write(&to.path("file"), &entries(&exported.file));
    let into = to.path("work");
    let imported = import(&to.home, &to.path("file"), to.as_is(&into)).expect("imported");
    assert_eq!(imported.dir.id(), &exported.manifest.run);
    let plan = imported.dir.plan().expect("a plan");
    assert_eq!(plan.cwd.as_path(), fs::canonicalize(into).expect("a path"));
    assert_eq!(plan.imported.expect("it was").from_cwd.as_path(), from.path("work"));
}

#[test]
fn refuses_entries_that_differ_from_the_manifest() {
    refused("stands where its manifest has", |entries| entries.swap(1, 2));
    refused("`../../out` stands where", |entries| entries[1].name = "../../out".to_owned());
    refused("cut short", |entries| drop(entries.pop()));
    refused("more than its manifest names", |entries| {
        entries.push(Raw { name: "run/more".to_owned(), kind: EntryType::Regular, content: Vec::new() });
    });
    refused("is damaged", |entries| {
        let last = entries.last_mut().expect("an entry");
        last.content[0] ^= 1;
    });
    refused("stands where its manifest has", |entries| entries[1].content.push(b'x'));
    refused("no exported run", |entries| drop(entries.remove(0)));
}

#[test]
fn accepts_only_plain_files() {
    let kinds = [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::Directory,
        EntryType::GNULongName,
        EntryType::XHeader,
        EntryType::GNUSparse,
    ];
    for kind in kinds {
        refused("stands where its manifest has", |entries| entries[1].kind = kind);
    }
}

#[test]
fn names_stay_below_the_run() {
    for name in [
        "run/plan.json",
        "run/attempts/001/stream.jsonl",
        "run/sessions/54f67155.jsonl",
        "run/a b é",
        "workspace.bundle",
    ] {
        assert!(is_name(name), "{name}");
    }
    let bad = [
        "",
        "run",
        "run/",
        "run//x",
        "run/./x",
        "run/../x",
        "run/a/../../x",
        "run/..",
        "/run/x",
        "/etc/passwd",
        "../run/x",
        "manifest.json",
        "other",
        "run/.hidden",
        "run/a/.new",
        "run/requests/cancel",
        "run/a\\b",
        "run/a\0b",
        "workspace.bundle/x",
    ];
    for name in bad {
        assert!(!is_name(name), "{name}");
        refused("is no name for a file of a run", |entries| {
            entries[1].name = name.replace('\0', "");
            change(entries, |manifest| manifest["members"][0]["name"] = json!(name));
        });
    }
}

#[test]
fn refuses_invalid_manifests() {
    let check = |message: &str, pointer: &str, value: Value| {
        refused(message, |entries| {
            change(entries, |manifest| *manifest.pointer_mut(pointer).expect("a field") = value);
        });
    };
    check("would be larger than", "/members/0/bytes", json!(u64::MAX));
    check("would be larger than", "/members/0/bytes", json!(1_u64 << 50));
    check("does not agree with its workspace.bundle", "/workspace", workspace("a"));
    check("is not a valid run id", "/run", json!("../../kmz"));
    check("it has no run/plan.json", "/members", json!([]));
    check("its manifest: invalid type", "/members", json!(7));
    refused("is no name for a file", |entries| {
        change(entries, |manifest| manifest["members"][1] = manifest["members"][0].clone());
    });
}

fn workspace(below: &str) -> Value {
    json!({ "head": null, "branch": null, "tree": "ab12", "object_format": "sha1", "subdirectory": below })
}

#[test]
fn the_working_directory_stays_below_the_workspace() {
    let members = ["run/plan.json", "run/journal.jsonl", "workspace.bundle"]
        .map(|name| json!({ "name": name, "bytes": 0, "sha256": "" }));
    let flaw = |change: fn(&mut Value)| {
        let mut manifest = json!({
            "format": 1, "longhaul": "0.1.0", "run": "kmz", "exported_at": "", "cwd": "/", "sessions": [],
            "workspace": workspace("a/b"),
            "members": members,
        });
        change(&mut manifest["workspace"]);
        serde_json::from_value::<Manifest>(manifest).expect("a manifest").validate()
    };
    assert_eq!(flaw(|_| {}), None);
    let no_directory = [
        flaw(|workspace| workspace["subdirectory"] = json!("../x")),
        flaw(|workspace| workspace["subdirectory"] = json!("/etc")),
        flaw(|workspace| workspace["subdirectory"] = json!("a/../../x")),
    ];
    assert!(no_directory.iter().flatten().all(|flaw| flaw.contains("is no directory of the workspace")));
    assert_eq!(no_directory.iter().flatten().count(), 3);
    let no_object = [
        flaw(|workspace| workspace["tree"] = json!("--upload-pack=x")),
        flaw(|workspace| workspace["head"] = json!("")),
        flaw(|workspace| workspace["shallow"] = json!(["main"])),
        flaw(|workspace| workspace["object_format"] = json!("md5")),
    ];
    assert_eq!(no_object.iter().flatten().count(), 4);
}

#[test]
fn refuses_a_newer_format() {
    let from = Homes::new();
    from.create_run();
    let mut entries = entries(&from.export().file);
    // This version understands no other field of it.
    entries[0].content = json!({ "format": 2, "longhaul": "9.1.0", "run": 7 }).to_string().into_bytes();
    let to = Homes::new();
    write(&to.path("file"), &entries);
    refused_file(&to, &to.path("file"), "longhaul 9.1.0 wrote it in format 2");
    let into = to.path("work");
    let error = import(&to.home, &to.path("file"), to.as_is(&into));
    assert!(matches!(error, Err(TransferError::Newer { .. })), "{error:?}");
}

#[test]
fn refuses_journals_of_newer_versions_and_damaged_plans() {
    let with = |name: &'static str, content: &'static [u8]| {
        move |entries: &mut Vec<Raw>| {
            let index = entries.iter().position(|entry| entry.name == name).expect("a member");
            let file = tempfile::NamedTempFile::new().expect("a file");
            fs::write(file.path(), content).expect("written");
            let member = crate::transfer::archive::member(name.to_owned(), file.path()).expect("a member");
            change(entries, |manifest| manifest["members"][index - 1] = json!(member));
            entries[index].content = content.to_vec();
        }
    };
    let newer = br#"{"format":1,"seq":1,"at":1,"records":[{"record":"from_the_future"}]}
"#;
    let refused = |content: &'static [u8], name| {
        let from = Homes::new();
        from.create_run();
        let mut entries = entries(&from.export().file);
        with(name, content)(&mut entries);
        let to = Homes::new();
        write(&to.path("file"), &entries);
        let into = to.path("work");
        let error = import(&to.home, &to.path("file"), to.as_is(&into)).expect_err("it cannot be read");
        assert_eq!(to.home.runs_newest_first().expect("runs").count(), 0);
        let hidden = fs::read_dir(to.home.runs_path())
            .expect("runs")
            .flat_map(|day| fs::read_dir(day.expect("a day").path()).expect("a day"));
        assert_eq!(hidden.count(), 0, "{error}");
        error.to_string()
    };
    assert!(refused(newer, "run/journal.jsonl").contains("was written by a newer longhaul"));
    assert!(refused(b"{}", "run/plan.json").contains("read plan"));
}

#[test]
fn a_file_that_unpacks_to_much_more_needs_consent() {
    let (from, to) = (Homes::new(), Homes::new());
    from.create_run();
    let run = from.home.find("@").expect("a run");
    fs::write(run.path().join("zeros"), vec![0; 20 << 20]).expect("written");
    let file = from.export().file;
    refused_file(&to, &file, "more than ten times its size");
    let into = to.path("work");
    let large = ImportDestination { allow_large: true, ..to.as_is(&into) };
    import(&to.home, &file, large).expect("it is allowed");
}

#[test]
fn refuses_a_truncated_file() {
    let from = Homes::new();
    from.create_run();
    let whole = fs::read(from.export().file).expect("a file");
    let to = Homes::new();
    let file = to.path("file");
    for length in (0..whole.len()).step_by(whole.len() / 40) {
        fs::write(&file, &whole[..length]).expect("written");
        refused_file(&to, &file, "import");
    }
    fs::write(&file, "no archive at all").expect("written");
    refused_file(&to, &file, "no exported run");
    refused_file(&to, &to.path("missing"), "read");
    refused_file(&to, &to.path("work"), "directory");
}
