//! Checks the imports between modules: within a crate, sibling modules must not import each other in a cycle.
//! A module and its parent may. Tests are not checked, and neither are imports through a re-export.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module by its path in the crate. The root has an empty path.
type Module = Vec<String>;

#[test]
fn sibling_modules_do_not_import_each_other_in_a_cycle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut crates: Vec<PathBuf> = vec![root.join("xtask")];
    let entries = fs::read_dir(root.join("crates")).expect("the workspace has crates");
    crates.extend(entries.map(|entry| entry.expect("a readable directory").path()));
    for dir in crates {
        let cycles = cycles_of(&sources(&dir.join("src")));
        assert!(cycles.is_empty(), "{}: modules import each other in cycles: {cycles:#?}", dir.display());
    }
}

#[test]
fn finds_a_cycle_of_siblings() {
    let sources = |files: &[(&str, &str)]| -> BTreeMap<Module, String> {
        files.iter().map(|(module, text)| (path(module), (*text).to_owned())).collect()
    };
    let cycle = sources(&[
        ("", "mod a; mod b; mod c;"),
        ("a", "use crate::{Root, b::inner::Item};\nuse crate::c;"),
        ("b", ""),
        ("b::inner", "pub use super::super::a::{self, Other};"),
        ("c", "// use crate::a;\n"),
    ]);
    assert_eq!(cycles_of(&cycle), [BTreeSet::from(["a".to_owned(), "b".to_owned()])]);
    let parent_and_child = sources(&[
        ("", "mod a;"),
        ("a", "mod inner;\nuse inner::Item;\nuse self::inner::Other;"),
        ("a::inner", "use super::Own;\nuse crate::a::Own;\n#[cfg(test)]\nmod tests { use crate::b; }"),
        ("b", "use crate::a;"),
    ]);
    assert_eq!(cycles_of(&parent_and_child), [] as [BTreeSet<String>; 0]);
}

/// Returns the text of every module outside tests.
fn sources(src: &Path) -> BTreeMap<Module, String> {
    let mut modules = BTreeMap::new();
    let mut dirs = vec![(src.to_owned(), Module::new())];
    while let Some((dir, parent)) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("a readable directory") {
            let file = entry.expect("a readable directory").path();
            let stem = file.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
            let module = match stem.as_str() {
                "tests" => continue,
                "lib" | "main" | "mod" => parent.clone(),
                _ => [parent.as_slice(), &[stem]].concat(),
            };
            if file.is_dir() {
                dirs.push((file, module));
            } else if file.extension().is_some_and(|extension| extension == "rs") {
                modules.insert(module, fs::read_to_string(&file).expect("a source is UTF-8"));
            }
        }
    }
    modules
}

/// Returns the sets of sibling modules that import each other, directly or not.
fn cycles_of(sources: &BTreeMap<Module, String>) -> Vec<BTreeSet<String>> {
    let mut imports: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, text) in sources {
        for imported in uses(text).iter().filter_map(|path| resolve(sources, module, path)) {
            // The siblings are the ancestors below the common one.
            let common = module.iter().zip(&imported).take_while(|(own, other)| own == other).count();
            if let (Some(own), Some(other)) = (module.get(..=common), imported.get(..=common)) {
                imports.entry(own.to_owned()).or_default().insert(other.to_owned());
            }
        }
    }
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reachable(&imports, module))).collect();
    let cycle_of = |module: &Module| -> BTreeSet<String> {
        let others = reached[module]
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(module)));
        others.map(|other| other.join("::")).collect()
    };
    let cycles: BTreeSet<_> = imports.keys().map(cycle_of).filter(|cycle| !cycle.is_empty()).collect();
    cycles.into_iter().collect()
}

/// Returns the modules that a module imports, directly or not.
fn reachable<'i>(imports: &'i BTreeMap<Module, BTreeSet<Module>>, from: &'i Module) -> BTreeSet<&'i Module> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        next.extend(imports.get(module).into_iter().flatten().filter(|other| seen.insert(*other)));
    }
    seen
}

/// Returns the module of the crate that an imported path leads into, or `None` for another crate.
fn resolve(sources: &BTreeMap<Module, String>, module: &Module, path: &Module) -> Option<Module> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let absolute = match path.first()?.as_str() {
        "crate" => path[1..].to_owned(),
        "self" => [module.as_slice(), &path[1..]].concat(),
        "super" => [&module[..module.len() - supers], &path[supers..]].concat(),
        child => {
            let child = [module.as_slice(), &[child.to_owned()]].concat();
            sources.contains_key(&child).then(|| [module.as_slice(), path].concat())?
        }
    };
    (0..=absolute.len())
        .rev()
        .map(|length| absolute[..length].to_owned())
        .find(|path| sources.contains_key(path))
}

/// Returns every imported path of a source outside its tests.
fn uses(text: &str) -> Vec<Module> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .fold(String::new(), |code, line| code + line + "\n");
    let statements = code.split(';').filter_map(|statement| {
        let (before, tree) = statement.rsplit_once("use ")?;
        let before = before.rsplit('\n').next().unwrap_or_default().trim();
        (before.is_empty() || before.starts_with("pub")).then(|| tree.to_owned())
    });
    statements.flat_map(|tree| paths_of(&tree)).collect()
}

/// Returns the paths of an import such as `crate::{a::B, c}`.
fn paths_of(tree: &str) -> Vec<Module> {
    let Some((prefix, group)) = tree.split_once('{') else { return vec![path(tree)] };
    let prefix = path(prefix);
    let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
    let (mut depth, mut start, mut trees) = (0, 0, Vec::new());
    for (offset, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                trees.push(&group[start..offset]);
                start = offset + 1;
            }
            _ => {}
        }
    }
    trees.push(&group[start..]);
    let trees = trees.into_iter().filter(|tree| !tree.trim().is_empty());
    trees.flat_map(paths_of).map(|rest| [prefix.as_slice(), &rest].concat()).collect()
}

fn path(text: &str) -> Module {
    let text = text.split(" as ").next().unwrap_or_default();
    text.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
