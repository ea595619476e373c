//! `zkrecipes ls PATH`.

use std::time::SystemTime;

use zkrecipes::drive::{self, CancelToken};

use crate::args::{self, Word, Words};
use crate::common::Common;
use crate::help;
use crate::outcome::{self, Failure, Outcome};
use crate::table;

pub(crate) fn run(mut words: Words, mut common: Common) -> Outcome {
    let (mut path, mut is_json) = (None, false);
    while let Some(word) = words.next_word()? {
        match word {
            Word::Option(option) => match option.as_str() {
                "--help" | "-h" => return help::print(help::LS),
                "--json" => is_json = true,
                _ if common.accept(&option, &mut words)? => {}
                _ => return Err(args::unknown(&option, "zkrecipes ls")),
            },
            Word::Dashes => {}
            Word::Plain(word) if path.is_none() => path = Some(args::text(&word, "the path")?),
            Word::Plain(word) => return Err(args::superfluous(&word, "zkrecipes ls")),
        }
    }
    let path = path.ok_or_else(|| Failure::usage("which path? See zkrecipes ls --help"))?;
    common.looking(&CancelToken::new(), |onlooker| {
        let (onlooker, asked) = (onlooker.clone(), path.clone());
        let rows = drive::wait(async move { onlooker.gather(&asked).await }, None, None)?.rows;
        if is_json {
            let objects: Vec<_> = rows.iter().map(|row| format!("{{{}}}", table::json_fields(row))).collect();
            return outcome::print(&format!("[{}]\n", objects.join(",\n ")));
        }
        outcome::print(&(table::lines(&rows, SystemTime::now()).join("\n") + "\n"))?;
        if rows.is_empty() {
            outcome::say(&format!("nobody holds {path} and nobody waits for it"));
        }
        Ok(0)
    })
}
