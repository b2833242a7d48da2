use super::*;
use serde_json::json;

fn registry() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("data/openclawpack/registry.json");
    (dir, path)
}

fn project(name: &str, path: &str) -> RegisteredProject {
    let (name, path, registered_at) = (name.to_owned(), path.to_owned(), "2026-02-22T10:00:00Z".to_owned());
    RegisteredProject {
        name,
        path,
        registered_at,
        last_checked_at: None,
        last_known_state: None,
        other: Map::new(),
    }
}

fn names(registry: &Registry) -> Vec<&str> {
    registry.projects().map(|project| project.name.as_str()).collect()
}

#[test]
fn names_and_directories_are_unique() {
    let (_dir, path) = registry();
    let mut registry = Registry::open(path.clone()).expect("opened");
    registry.add(project("one", "/one")).expect("added");
    registry.add(project("two", "/two")).expect("added");
    let same_name = registry.add(project("one", "/three")).expect_err("the name is taken").error;
    assert_eq!(same_name, "a project is already named `one`: /one");
    let same_path = registry.add(project("three", "/two")).expect_err("the path is taken").error;
    assert_eq!(same_path, "/two is already in the list, as `two`");
    drop(registry);
    let mut registry = Registry::open(path.clone()).expect("opened");
    assert_eq!(names(&registry), ["one", "two"]);
    registry.remove("one").expect("removed");
    let unknown = registry.remove("one").expect_err("it is not in the list");
    assert_eq!(unknown.hint.as_deref(), Some("the list has two"));
    drop(registry);
    assert_eq!(names(&Registry::open(path).expect("opened")), ["two"]);
}

#[test]
fn file_has_the_format_of_openclawpack_and_keeps_other_fields() {
    let (_dir, path) = registry();
    fs::create_dir_all(path.parent().expect("a directory")).expect("created");
    let file = json!({
        "version": 1, "theme": "dark",
        "projects": { "one": {
            "name": "one", "path": "/one", "registered_at": "2026-02-22T10:00:00.5+00:00",
            "last_checked_at": null, "last_known_state": null, "tags": ["a"],
        } },
    });
    fs::write(&path, file.to_string()).expect("written");
    let mut registry = Registry::open(path.clone()).expect("opened");
    registry.refresh("2026-02-23T10:00:00Z", |project| Some(json!({ "path": project.path }))).expect("saved");
    let mut expected = file;
    expected["projects"]["one"]["last_checked_at"] = json!("2026-02-23T10:00:00Z");
    expected["projects"]["one"]["last_known_state"] = json!({ "path": "/one" });
    let saved: Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
    assert_eq!(saved, expected);
}

#[test]
fn damaged_file_is_set_aside() {
    let (_dir, path) = registry();
    fs::create_dir_all(path.parent().expect("a directory")).expect("created");
    for (number, text) in ["{", "{\"version\": 1, \"projects\": []}"].iter().enumerate() {
        fs::write(&path, text).expect("written");
        let registry = Registry::open(path.clone()).expect("opened");
        assert_eq!(registry.projects().count(), 0);
        let aside = path.with_file_name(format!("registry.damaged-{}.json", number + 1));
        assert_eq!(fs::read_to_string(aside).expect("it is kept"), *text);
    }
    let newer = "{\"version\": 2, \"list\": []}";
    fs::write(&path, newer).expect("written");
    let error = Registry::open(path.clone()).expect_err("it is newer").error;
    assert!(error.contains("it has version 2"), "{error}");
    assert_eq!(fs::read_to_string(path).expect("it is unchanged"), newer);
}

#[test]
fn path_follows_the_user_directories() {
    let check = |data: Option<&str>, home: Option<&str>| {
        let variable = |name: &str| if name == "HOME" { home } else { data }.map(OsString::from);
        Registry::default_path(variable).ok().map(|path| path.display().to_string())
    };
    assert_eq!(check(Some("/data"), Some("/home/me")).as_deref(), Some("/data/openclawpack/registry.json"));
    let in_home = "/home/me/.local/share/openclawpack/registry.json";
    assert_eq!(check(None, Some("/home/me")).as_deref(), Some(in_home));
    assert_eq!(check(Some("relative"), Some("/home/me")).as_deref(), Some(in_home));
    assert_eq!(check(None, None), None);
}
