//! What shells and man(1) know of the command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::outcome::{self, Failure, OUTPUT, Outcome};

/// Print what a shell needs to complete the words of zkrecipes
///
/// For example, for bash: zkrecipes completions bash > /etc/bash_completion.d/zkrecipes
#[derive(clap::Args)]
pub(crate) struct Completions {
    shell: Shell,
}

pub(crate) fn complete(args: &Completions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "zkrecipes", &mut script);
    outcome::print_bytes(&script)
}

/// Write the manual pages into a folder, one for each command
///
/// For example: zkrecipes man ~/.local/share/man/man1
#[derive(clap::Args)]
pub(crate) struct Man {
    folder: PathBuf,
}

pub(crate) fn write(args: &Man) -> Outcome {
    let failed = |error: io::Error| {
        Failure::new(OUTPUT, format!("cannot write the pages into {}: {error}", args.folder.display()))
    };
    fs::create_dir_all(&args.folder).map_err(failed)?;
    pages(Cli::command().disable_help_subcommand(true), &args.folder).map_err(failed)?;
    Ok(0)
}

fn pages(mut command: clap::Command, folder: &Path) -> io::Result<()> {
    command.build();
    clap_mangen::generate_to(command, folder)
}
