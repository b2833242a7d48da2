//! `longhaul completions`.

use clap::Args;
use clap_complete::Shell;

/// The end of its help.
pub const INSTALL: &str = "Install the script again after each update of longhaul.\n\
                           Bash:       longhaul completions bash > ~/.local/share/bash-completion/completions/longhaul\n\
                           Zsh:        longhaul completions zsh > DIR/_longhaul, where DIR is in $fpath\n\
                           Fish:       longhaul completions fish > ~/.config/fish/completions/longhaul.fish\n\
                           PowerShell: longhaul completions powershell >> $PROFILE\n\
                           Elvish:     longhaul completions elvish >> ~/.config/elvish/rc.elv";

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}
