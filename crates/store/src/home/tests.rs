use super::*;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;

fn variables<'a>(list: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
    move |requested| list.iter().find(|(name, _)| *name == requested).map(|(_, value)| (*value).into())
}

#[test]
fn first_source_wins() {
    let check = |explicit: Option<&str>, list: &[(&str, &str)], expected: &str| {
        let home = Home::locate(explicit.map(PathBuf::from), variables(list)).expect("a home");
        assert_eq!(home.path(), Path::new(expected));
    };
    let all = [("LONGHAUL_HOME", "/a"), ("XDG_STATE_HOME", "/b"), ("HOME", "/c")];
    check(Some("/x"), &all, "/x");
    check(None, &all, "/a");
    check(None, &all[1..], "/b/longhaul");
    check(None, &all[2..], "/c/.local/state/longhaul");
    check(
        None,
        &[("LONGHAUL_HOME", ""), ("XDG_STATE_HOME", "rel"), ("HOME", "/c")],
        "/c/.local/state/longhaul",
    );
    let relative = Home::locate(Some("rel".into()), variables(&[])).expect("a home");
    assert!(relative.path().is_absolute() && relative.path().ends_with("rel"));
}

#[test]
fn relative_variable_is_an_error() {
    for value in ["runs", "~/runs", "./runs"] {
        let error = Home::locate(None, variables(&[("LONGHAUL_HOME", value)])).expect_err("relative");
        assert_eq!(error.to_string(), format!("LONGHAUL_HOME is not an absolute path: `{value}`"));
    }
}

#[test]
fn home_is_unknown_without_variables() {
    for set in [&[][..], &[("HOME", "relative")]] {
        let error = Home::locate(None, variables(set)).expect_err("no home");
        assert!(matches!(error, StoreError::HomeUnknown));
    }
}

#[test]
fn creates_private_home_once() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("state/longhaul");
    for _ in 0..2 {
        let home = Home::open(Some(path.clone()), variables(&[])).expect("home");
        for path in [path.parent().expect("parent"), home.path(), &home.runs_path()] {
            assert_eq!(fs::metadata(path).expect("metadata").permissions().mode() & 0o777, 0o700);
        }
    }
}

#[test]
fn error_names_blocking_file() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let file = dir.path().join("file");
    fs::write(&file, "x").expect("file");
    for home in [file.clone(), file.join("below")] {
        let error = Home::open(Some(home.clone()), variables(&[])).expect_err("not a directory");
        assert_eq!(
            error.to_string(),
            format!("cannot open home {}: {} is not a directory", home.display(), file.display())
        );
    }
}

#[test]
fn unwritable_home_is_an_error() {
    let dir = tempfile::tempdir().expect("temporary directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o500)).expect("mode");
    // Root may write anywhere except in the kernel's own tree.
    let parent = if rustix::process::geteuid().is_root() { Path::new("/sys") } else { dir.path() };
    let error = Home::open(Some(parent.join("longhaul")), variables(&[])).expect_err("unwritable");
    assert!(error.to_string().starts_with("cannot create home /"), "{error}");
    let is_refused =
        |kind| matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
    assert!(matches!(&error, StoreError::Io { cause, .. } if is_refused(cause.kind())), "{error}");
    assert!(!error.is_disk_full());
}
