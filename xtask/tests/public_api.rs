//! Compares the public interface of the library with `crates/longhaul/public-api.txt`, and checks that users can
//! name each of its types. `UPDATE_EXPECT=1` writes the file. It reads source text only, so it needs no special
//! compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Fields, File, ImplItem, Item, TraitItem, Type, UseTree, Visibility, parse_quote};

const SNAPSHOT: &str = "crates/longhaul/public-api.txt";
/// Crates whose types may stand in the interface: a user has them, too.
const KNOWN_CRATES: [&str; 7] =
    ["std", "futures_core", "rusqlite", "schemars", "serde", "serde_json", "toml"];
const PRELUDE: &str = "AsRef Box Clone Default Drop Fn FnMut FnOnce From Future Into IntoIterator Iterator None Option Result Self \
                       Send Some String TryFrom Vec bool f64 i32 i64 str u16 u32 u64 u8 usize";

struct PublicItem {
    /// Name of the item, or of the type that an `impl` block is for.
    name: String,
    file: PathBuf,
    item: Item,
    /// Names that its file imports, with the first part of their paths.
    imports: BTreeMap<String, String>,
}

#[derive(Default)]
struct Interface {
    text: String,
    names: BTreeSet<String>,
    /// Names of types in the items, with an item that mentions them.
    mentioned: BTreeMap<String, String>,
}

struct Library {
    /// The directory of all crates.
    crates: PathBuf,
    items: Vec<PublicItem>,
}

/// A name that a module exports from another module or crate.
struct Export {
    path: Vec<String>,
    name: String,
}

#[test]
fn library_interface_matches_its_snapshot_and_mentions_only_its_own_types() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
    let mut interface = Interface::default();
    let sources = root.join("crates/longhaul/src");
    let mut items = Vec::new();
    for name in ["longhaul", "core", "agent", "store", "workflow"] {
        collect_items(&root.join("crates").join(name).join("src"), &mut items);
    }
    let library = Library { crates: root.join("crates"), items };
    library.render_module(&sources, &sources.join("lib.rs"), "longhaul", &mut interface);
    let Interface { text, names, mut mentioned } = interface;
    mentioned.retain(|name, _| !names.contains(name));
    assert_eq!(mentioned, BTreeMap::new(), "export these types, or make the items private that mention them");
    let text = format!("// The public interface of the crate `longhaul`.\n{text}");
    let path = root.join(SNAPSHOT);
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).expect("the snapshot is writable");
    }
    let snapshot = fs::read_to_string(&path).unwrap_or_default();
    let differences = snapshot.lines().zip(text.lines()).filter(|(old, new)| old != new);
    let first = differences.map(|(old, new)| format!("- {old}\n+ {new}")).next();
    assert!(
        snapshot == text,
        "the interface differs from {SNAPSHOT}; review it, then set UPDATE_EXPECT=1\n{}",
        first.unwrap_or_else(|| "one of them is longer".to_owned())
    );
}

impl Library {
    /// Appends every public item of a module and of its public submodules, whose files are in `dir`.
    fn render_module(&self, dir: &Path, file: &Path, module: &str, interface: &mut Interface) {
        let source = parse(file);
        interface.text += &format!("\n// {module}\n");
        for item in source.items.iter().filter(|item| !is_for_schemas(item)) {
            if let Item::Use(import) = item
                && is_public(&import.vis)
            {
                let mut exports = Vec::new();
                collect_exports(&import.tree, &mut Vec::new(), &mut exports);
                for export in exports {
                    self.render_export(dir, &export, interface);
                }
            } else if let Some(name) = public_name(item).or_else(|| impl_name(item)) {
                interface.add(&public_item(name, file, item, &source));
            }
        }
        for item in &source.items {
            if let Item::Mod(child) = item
                && is_public(&child.vis)
            {
                let (name, child_module) = (child.ident.to_string(), format!("{module}::{}", child.ident));
                self.render_module(
                    &dir.join(&name),
                    &dir.join(format!("{name}.rs")),
                    &child_module,
                    interface,
                );
            }
        }
    }

    fn render_export(&self, dir: &Path, export: &Export, interface: &mut Interface) {
        let (sources, path) = match export.path.split_first() {
            Some((first, rest)) if first.starts_with("longhaul_") => {
                let name = first.trim_start_matches("longhaul_");
                (self.crates.join(name).join("src"), rest)
            }
            _ => (dir.to_owned(), &export.path[..]),
        };
        interface.names.insert(export.name.clone());
        let own = self.items.iter().filter(|item| item.file.starts_with(&sources));
        let named = own.filter(|item| item.name == export.name);
        // Functions of several modules may share a name.
        let is_in_path = |item: &&PublicItem| {
            let file = item.file.strip_prefix(&sources).unwrap_or(&item.file).with_extension("");
            path.first().is_none_or(|first| file.starts_with(first))
        };
        let (here, elsewhere): (Vec<_>, Vec<_>) = named.partition(is_in_path);
        let is_defined_here = here.iter().any(|item| !matches!(item.item, Item::Impl(_)));
        if !is_defined_here && elsewhere.iter().all(|item| matches!(item.item, Item::Impl(_))) {
            interface.text += &format!("// {}: defined by a macro\n", export.name);
        }
        let methods_elsewhere =
            elsewhere.into_iter().filter(|item| !is_defined_here || matches!(item.item, Item::Impl(_)));
        here.iter().copied().chain(methods_elsewhere).for_each(|item| interface.add(item));
    }
}

impl Interface {
    fn add(&mut self, item: &PublicItem) {
        let Some(shown) = as_users_see(item.item.clone()) else { return };
        let mut mentions = Mentions::default();
        mentions.visit_item(&shown);
        let is_known = |name: &String| {
            let origin = item.imports.get(name).unwrap_or(name);
            KNOWN_CRATES.contains(&origin.as_str()) || PRELUDE.split(' ').any(|known| known == name)
        };
        let unknown = mentions.paths.difference(&mentions.parameters).filter(|name| !is_known(name));
        self.mentioned.extend(unknown.map(|name| (name.clone(), item.name.clone())));
        self.names.insert(item.name.clone());
        self.text += &prettyplease::unparse(&File { shebang: None, attrs: Vec::new(), items: vec![shown] });
    }
}

/// The first parts of all paths of an item, and its type parameters.
#[derive(Default)]
struct Mentions {
    paths: BTreeSet<String>,
    parameters: BTreeSet<String>,
}

impl Visit<'_> for Mentions {
    fn visit_attribute(&mut self, _attribute: &Attribute) {}

    fn visit_macro(&mut self, _call: &syn::Macro) {}

    fn visit_path(&mut self, path: &syn::Path) {
        self.paths.extend(path.segments.first().map(|first| first.ident.to_string()));
        visit::visit_path(self, path);
    }

    // Users never name the types that a trait of this item is for.
    fn visit_item_impl(&mut self, block: &syn::ItemImpl) {
        let Some((_, path, _)) = &block.trait_ else { return visit::visit_item_impl(self, block) };
        self.paths.extend(path.segments.first().map(|first| first.ident.to_string()));
        self.visit_generics(&block.generics);
        block.items.iter().for_each(|item| self.visit_impl_item(item));
    }

    fn visit_type_param(&mut self, parameter: &syn::TypeParam) {
        self.parameters.insert(parameter.ident.to_string());
        visit::visit_type_param(self, parameter);
    }
}

/// Removes private fields and methods, bodies and comments. Returns `None` if nothing is left to see.
fn as_users_see(mut item: Item) -> Option<Item> {
    match &mut item {
        Item::Struct(shown) => {
            retain_attributes(&mut shown.attrs);
            retain_public_fields(&mut shown.fields);
        }
        Item::Enum(shown) => {
            retain_attributes(&mut shown.attrs);
            for variant in &mut shown.variants {
                variant.attrs.clear();
                variant.fields.iter_mut().for_each(|field| field.attrs.clear());
            }
        }
        Item::Trait(shown) => {
            retain_attributes(&mut shown.attrs);
            for member in &mut shown.items {
                if let TraitItem::Fn(method) = member {
                    method.attrs.clear();
                    method.default = method.default.as_ref().map(|_| parse_quote!({}));
                } else if let TraitItem::Type(associated) = member {
                    associated.attrs.clear();
                }
            }
        }
        Item::Fn(shown) => {
            shown.attrs.clear();
            shown.block = parse_quote!({});
        }
        Item::Const(shown) => shown.attrs.clear(),
        Item::Type(shown) => shown.attrs.clear(),
        Item::Impl(shown) => {
            shown.attrs.clear();
            let is_of_trait = shown.trait_.is_some();
            shown.items.retain_mut(|member| match member {
                ImplItem::Fn(method) => {
                    method.attrs.clear();
                    method.block = parse_quote!({});
                    !is_of_trait && is_public(&method.vis)
                }
                ImplItem::Const(constant) => {
                    constant.attrs.clear();
                    !is_of_trait && is_public(&constant.vis)
                }
                _ => is_of_trait,
            });
            if shown.items.is_empty() && !is_of_trait {
                return None;
            }
        }
        _ => return None,
    }
    Some(item)
}

fn retain_public_fields(fields: &mut Fields) {
    match fields {
        Fields::Named(fields) => {
            let public = fields.named.iter().filter(|field| is_public(&field.vis)).cloned();
            fields.named = public.collect::<Punctuated<_, _>>();
        }
        Fields::Unnamed(fields) => {
            let public = fields.unnamed.iter().filter(|field| is_public(&field.vis)).cloned();
            fields.unnamed = public.collect::<Punctuated<_, _>>();
        }
        Fields::Unit => {}
    }
    fields.iter_mut().for_each(|field| field.attrs.clear());
}

/// Keeps the derived traits, which callers may use, and what may grow.
fn retain_attributes(attrs: &mut Vec<Attribute>) {
    attrs.retain(|attr| attr.path().is_ident("derive") || attr.path().is_ident("non_exhaustive"));
}

fn collect_items(dir: &Path, items: &mut Vec<PublicItem>) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| !path.ends_with("tests")).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect_items(&path, items);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let source = parse(&path);
            let named = source.items.iter().filter(|item| !is_for_schemas(item)).filter_map(|item| {
                Some(public_item(public_name(item).or_else(|| impl_name(item))?, &path, item, &source))
            });
            items.extend(named);
        }
    }
}

fn public_item(name: String, file: &Path, item: &Item, source: &File) -> PublicItem {
    let mut imports = Vec::new();
    for item in &source.items {
        if let Item::Use(import) = item {
            collect_exports(&import.tree, &mut Vec::new(), &mut imports);
        }
    }
    let origin = |import: Export| Some((import.name, import.path.into_iter().next()?));
    let imports = imports.into_iter().filter_map(origin).collect();
    PublicItem { name, file: file.to_owned(), item: item.clone(), imports }
}

fn public_name(item: &Item) -> Option<String> {
    let (vis, ident) = match item {
        Item::Struct(item) => (&item.vis, &item.ident),
        Item::Enum(item) => (&item.vis, &item.ident),
        Item::Trait(item) => (&item.vis, &item.ident),
        Item::Fn(item) => (&item.vis, &item.sig.ident),
        Item::Const(item) => (&item.vis, &item.ident),
        Item::Type(item) => (&item.vis, &item.ident),
        _ => return None,
    };
    is_public(vis).then(|| ident.to_string())
}

fn impl_name(item: &Item) -> Option<String> {
    let Item::Impl(block) = item else { return None };
    let Type::Path(path) = &*block.self_ty else { return None };
    Some(path.path.segments.last()?.ident.to_string())
}

fn collect_exports(tree: &UseTree, path: &mut Vec<String>, exports: &mut Vec<Export>) {
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            collect_exports(&tree.tree, path, exports);
            path.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect_exports(tree, path, exports)),
        UseTree::Name(name) if name.ident == "self" => {
            exports.extend(path.last().map(|name| Export { path: path.clone(), name: name.clone() }));
        }
        UseTree::Name(name) => exports.push(Export { path: path.clone(), name: name.ident.to_string() }),
        UseTree::Rename(name) => exports.push(Export { path: path.clone(), name: name.rename.to_string() }),
        UseTree::Glob(_) => {}
    }
}

fn is_public(vis: &Visibility) -> bool {
    matches!(vis, Visibility::Public(_))
}

/// Returns `true` for an item that exists only in tests or for schemas.
fn is_for_schemas(item: &Item) -> bool {
    let attrs = match item {
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        _ => return false,
    };
    attrs.iter().any(|attr| attr.path().is_ident("cfg"))
}

fn parse(path: &Path) -> File {
    let source = fs::read_to_string(path).expect("a source file is readable");
    syn::parse_file(&source).expect("a source file compiles")
}
