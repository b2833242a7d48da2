//! Tests that damaged or hostile files are rejected and that nothing is created.

use super::Homes;
use crate::transfer::manifest::{Manifest, is_member_name};
use crate::transfer::{ImportDestination, TransferError, import};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use tar::{EntryType, Header};

/// An archive entry without any validation.
struct RawEntry {
    name: String,
    kind: EntryType,
    content: Vec<u8>,
}

/// Reads the entries of an export.
fn entries(path: &Path) -> Vec<RawEntry> {
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(File::open(path).expect("a file")));
    let entries = tar.entries().expect("entries").map(|entry| {
        let mut entry = entry.expect("an entry");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("content");
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        RawEntry { name, kind: entry.header().entry_type(), content }
    });
    entries.collect()
}

fn write(path: &Path, entries: &[RawEntry]) {
    let mut gz = GzEncoder::new(File::create(path).expect("a file"), Compression::fast());
    for RawEntry { name, kind, content } in entries {
        let mut header = Header::new_ustar();
        // The name is written directly, because the crate's setter rejects names that lead elsewhere.
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

fn change(entries: &mut [RawEntry], change: impl FnOnce(&mut Value)) {
    let mut manifest = serde_json::from_slice(&entries[0].content).expect("a manifest");
    change(&mut manifest);
    entries[0].content = serde_json::to_vec(&manifest).expect("JSON");
}

/// Imports a modified export. Asserts that it is rejected with this message and that nothing remains.
fn check_rejected(message: &str, modify: impl FnOnce(&mut Vec<RawEntry>)) {
    let from = Homes::new();
    from.create_run();
    let mut entries = entries(&from.export().file);
    modify(&mut entries);
    let to = Homes::new();
    let file = to.path("file");
    write(&file, &entries);
    check_rejected_file(&to, &file, message);
}

fn check_rejected_file(to: &Homes, file: &Path, message: &str) {
    let into = to.path("work");
    let error = import(&to.home, file, to.use_existing(&into)).expect_err(message);
    assert!(error.to_string().contains(message), "`{message}` is not in `{error}`");
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
    let imported = import(&to.home, &to.path("file"), to.use_existing(&into)).expect("imported");
    let run = to.home.find("@").expect("the run");
    assert_eq!((run.id(), run.path()), (&exported.manifest.run, imported.dir.as_path()));
    let plan = run.plan().expect("a plan");
    assert_eq!(plan.spec.cwd, fs::canonicalize(into).expect("a path"));
    assert_eq!(plan.imported.expect("the run was imported").from_cwd.as_path(), from.path("work"));
}

#[test]
fn rejects_entries_different_from_manifest() {
    check_rejected("where its manifest lists", |entries| entries.swap(1, 2));
    check_rejected("it has `../../out` where", |entries| entries[1].name = "../../out".to_owned());
    check_rejected("truncated", |entries| drop(entries.pop()));
    check_rejected("more files than its manifest lists", |entries| {
        entries.push(RawEntry { name: "run/more".to_owned(), kind: EntryType::Regular, content: Vec::new() });
    });
    check_rejected("is damaged", |entries| {
        let last = entries.last_mut().expect("an entry");
        last.content[0] ^= 1;
    });
    check_rejected("where its manifest lists", |entries| entries[1].content.push(b'x'));
    check_rejected("not an exported run", |entries| drop(entries.remove(0)));
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
        check_rejected("where its manifest lists", |entries| entries[1].kind = kind);
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
        assert!(is_member_name(name), "{name}");
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
        "run/workspace/x",
        "run/a\\b",
        "run/a\0b",
        "workspace.bundle/x",
        "runs/kmz",
        "runs/kmz/plan.json/",
        "runs/../x",
        "runs/../../x",
        "workflow/worktrees/a",
        "workflow/requests/cancel",
        "other/plan.json",
    ];
    for name in bad {
        assert!(!is_member_name(name), "{name}");
        check_rejected("is not a valid name for a file of a run", |entries| {
            entries[1].name = name.replace('\0', "");
            change(entries, |manifest| manifest["members"][0]["name"] = json!(name));
        });
    }
}

#[test]
fn rejects_invalid_manifests() {
    let check = |message: &str, pointer: &str, value: Value| {
        check_rejected(message, |entries| {
            change(entries, |manifest| *manifest.pointer_mut(pointer).expect("a field") = value);
        });
    };
    check("would be larger than", "/members/0/bytes", json!(u64::MAX));
    check("would be larger than", "/members/0/bytes", json!(1_u64 << 50));
    check("does not match its workspace.bundle", "/workspace", workspace("a"));
    check("is not a valid run id", "/run", json!("../../kmz"));
    check("it has no run/plan.json", "/members", json!([]));
    check("its manifest: invalid type", "/members", json!(7));
    // The files of a workflow and of its runs must be in the directories that the manifest lists.
    check_rejected("is not a valid name for a file", |entries| {
        change(entries, |manifest| manifest["workflow_runs"] = json!([]));
    });
    check_rejected("is not a valid name for a file", |entries| {
        change(entries, |manifest| manifest["members"][0]["name"] = json!("runs/kmz/plan.json"));
    });
    check_rejected("is not a valid name for a file", |entries| {
        change(entries, |manifest| manifest["members"][1] = manifest["members"][0].clone());
    });
}

fn workspace(subdirectory: &str) -> Value {
    json!({
        "head": null, "branch": null, "tree": "ab12", "object_format": "sha1", "subdirectory": subdirectory,
    })
}

#[test]
fn the_working_directory_stays_below_the_workspace() {
    let members = ["run/plan.json", "run/journal.jsonl", "workspace.bundle"]
        .map(|name| json!({ "name": name, "bytes": 0, "sha256": "" }));
    let flaw = |change: fn(&mut Value)| {
        let mut manifest = json!({
            "format": 1, "longhaul_version": "0.1.0", "run": "kmz", "exported_at": "", "cwd": "/", "sessions": [],
            "workspace": workspace("a/b"),
            "members": members,
        });
        change(&mut manifest["workspace"]);
        serde_json::from_value::<Manifest>(manifest).expect("a manifest").validate()
    };
    assert_eq!(flaw(|_| {}), None);
    let invalid_directories = [
        flaw(|workspace| workspace["subdirectory"] = json!("../x")),
        flaw(|workspace| workspace["subdirectory"] = json!("/etc")),
        flaw(|workspace| workspace["subdirectory"] = json!("a/../../x")),
    ];
    assert!(
        invalid_directories.iter().flatten().all(|flaw| flaw.contains("is not a directory of the workspace"))
    );
    assert_eq!(invalid_directories.iter().flatten().count(), 3);
    let invalid_objects = [
        flaw(|workspace| workspace["tree"] = json!("--upload-pack=x")),
        flaw(|workspace| workspace["head"] = json!("")),
        flaw(|workspace| workspace["shallow"] = json!(["main"])),
        flaw(|workspace| workspace["object_format"] = json!("md5")),
    ];
    assert_eq!(invalid_objects.iter().flatten().count(), 4);
}

#[test]
fn rejects_a_newer_format() {
    let from = Homes::new();
    from.create_run();
    let mut entries = entries(&from.export().file);
    // This version does not know the other fields of that format.
    entries[0].content =
        json!({ "format": 3, "longhaul_version": "9.1.0", "run": 7 }).to_string().into_bytes();
    let to = Homes::new();
    write(&to.path("file"), &entries);
    check_rejected_file(&to, &to.path("file"), "longhaul 9.1.0 wrote it in format 3");
    let into = to.path("work");
    let error = import(&to.home, &to.path("file"), to.use_existing(&into));
    assert!(matches!(error, Err(TransferError::Newer { .. })), "{error:?}");
}

#[test]
fn rejects_journals_of_newer_versions_and_damaged_plans() {
    let with = |name: &'static str, content: &'static [u8]| {
        move |entries: &mut Vec<RawEntry>| {
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
        let error =
            import(&to.home, &to.path("file"), to.use_existing(&into)).expect_err("the file is invalid");
        assert_eq!(to.home.runs_newest_first().expect("runs").count(), 0);
        let hidden = fs::read_dir(to.home.runs_path())
            .expect("runs")
            .flat_map(|day| fs::read_dir(day.expect("a day").path()).expect("a day"));
        assert_eq!(hidden.count(), 0, "{error}");
        error.to_string()
    };
    assert!(refused(newer, "run/journal.jsonl").contains("was written by a newer version of longhaul"));
    assert!(refused(b"{}", "run/plan.json").contains("read plan"));
}

#[test]
fn highly_compressed_file_needs_consent() {
    let (from, to) = (Homes::new(), Homes::new());
    from.create_run();
    let run = from.home.find("@").expect("a run");
    fs::write(run.path().join("zeros"), vec![0; 20 << 20]).expect("written");
    let file = from.export().file;
    check_rejected_file(&to, &file, "more than ten times its size");
    let into = to.path("work");
    let large = ImportDestination { allow_large: true, ..to.use_existing(&into) };
    import(&to.home, &file, large).expect("large files are allowed");
}

#[test]
fn rejects_a_truncated_file() {
    let from = Homes::new();
    from.create_run();
    let whole = fs::read(from.export().file).expect("a file");
    let to = Homes::new();
    let file = to.path("file");
    for length in (0..whole.len()).step_by(whole.len() / 40) {
        fs::write(&file, &whole[..length]).expect("written");
        check_rejected_file(&to, &file, "import");
    }
    fs::write(&file, "not an archive").expect("written");
    check_rejected_file(&to, &file, "not an exported run");
    check_rejected_file(&to, &to.path("missing"), "read");
    check_rejected_file(&to, &to.path("work"), "directory");
}
