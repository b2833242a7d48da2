//! `longhaul man`: generates manual pages from the command tree.

use crate::args::{Cli, ManArgs, with_own_defaults};
use crate::failure::{Failure, OrFailure};
use crate::{output, visible_commands};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use std::io::{self, Write};

/// Returns the commands whose pages show all visible flags with their descriptions.
fn tree() -> Command {
    // A page describes only flags that the short help shows.
    fn describe_all(command: Command) -> Command {
        command.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(describe_all)
    }
    describe_all(visible_commands::tree(&Cli::command()).mut_subcommands(with_own_defaults))
}

pub fn man(args: &ManArgs) -> Result<u8, Failure> {
    let tree = tree();
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        let result = Man::new(tree).render(&mut page);
        result.or_unexpected("cannot write the manual page")?;
        // The printer keeps a write error until the end of the command.
        let _ = output::out::printer_of_bytes().write_all(&page);
        return Ok(0);
    };
    let write = || -> io::Result<()> {
        fs::create_dir_all(dir)?;
        clap_mangen::generate_to(tree, dir)
    };
    write().or_usage(
        format!("cannot write manual pages to {}", dir.display()),
        "name a directory that you can write to, like ~/.local/share/man/man1",
    )?;
    Ok(0)
}
