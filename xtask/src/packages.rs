//! `cargo xtask packages NAME`: builds the package of a language and tests it in an empty environment.

pub mod npm;
mod python;
mod together;

use clap::Subcommand;
use std::io;
use std::path::Path;

/// The languages with a package.
#[derive(Subcommand)]
pub enum Package {
    /// Install the npm package from its tarballs, and test its program, its API and its types
    Npm(npm::NpmOptions),
    /// Test the wheel in fresh environments of the oldest and the newest Python
    Python(python::PythonOptions),
    /// Start a run from the real Claude Code through MCP, inspect it from Python, cancel it from Node, and explain it
    Together(together::TogetherOptions),
}

pub fn packages(root: &Path, package: &Package) -> io::Result<()> {
    match package {
        Package::Npm(options) => npm::test(root, options),
        Package::Python(options) => python::python(root, options),
        Package::Together(options) => together::together(root, options),
    }
}
