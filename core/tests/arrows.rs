//! Which part of the core may know which: arrows go one way. Read from the sources themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// From who knows all to who knows nobody. A part may name itself and what stands further down, nothing beside or above it.
const HOUSE: &[&[&str]] = &[
    &["blocking", "fuzzing", "words"],
    &["drive"],
    &["recipes"],
    &["nodes"],
    &["feed"],
    &["client"],
    &["turn"],
    &["session"],
    &["session::wire"],
    &["session::system_clock"],
    &["session::random", "session::clock"],
    &["log"],
    &["pool"],
    &["runtime"],
    &["threads"],
    &["tls"],
    &["hosts"],
    &["options"],
    &[
        "futures",
        "json",
        "metrics",
        "miri",
        "mutex",
        "path",
        "process",
        "sanitizer",
        "signals",
        "stack",
        "time",
    ],
    &["error"],
    &["printable", "sort", "sync"],
];

/// Where a part stands; `None` for a path that leads into none.
fn floor(path: &[&str]) -> Option<(usize, &'static str)> {
    let joined = path.join("::");
    let within = |part: &str| joined == part || joined.starts_with(&format!("{part}::"));
    let found = HOUSE.iter().enumerate().flat_map(|(at, floor)| floor.iter().map(move |part| (at, *part)));
    found.filter(|(_, part)| within(part)).max_by_key(|(_, part)| part.len())
}

/// Every source with its path as modules, without the tests in it.
fn sources() -> Vec<(PathBuf, Vec<String>, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let text = fs::read_to_string(&entry).expect("text");
            let place = entry.strip_prefix(&root).expect("below").with_extension("");
            let mut modules: Vec<String> =
                place.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            modules.retain(|module| module != "mod" && module != "lib");
            found.push((entry, modules, text));
        }
    }
    let tests: Vec<Vec<String>> = found.iter().flat_map(|(_, of, text)| test_modules(of, text)).collect();
    found.retain(|(_, modules, _)| !tests.iter().any(|test| modules.starts_with(test)));
    for (.., text) in &mut found {
        let ends = ["\n#[cfg(test)]\nmod tests {", "\n#[cfg(test)]\npub(crate) mod tests {"];
        let end = ends.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
        text.truncate(end);
    }
    found
}

/// The lines with their numbers; a `use` over several lines is one.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (number, line) in text.lines().enumerate() {
        match found.last_mut().filter(|_| is_open) {
            Some((_, statement)) => statement.push_str(line),
            None => found.push((number + 1, line.to_owned())),
        }
        let begins =
            ["use ", "pub use ", "pub(crate) use "].iter().any(|word| line.trim_start().starts_with(word));
        is_open = (is_open || begins) && !line.ends_with(';');
    }
    found
}

/// The modules of this file that are only there for tests.
fn test_modules(of: &[String], text: &str) -> Vec<Vec<String>> {
    let declared = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| rest.lines().next());
    let named = declared.filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    named.map(|name| [of, &[name.to_owned()]].concat()).collect()
}

/// What the crate's root names on behalf of its modules: type -> module.
fn names_of_the_root() -> BTreeMap<String, Vec<String>> {
    let root = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("text");
    let mut names = BTreeMap::new();
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().expect("one");
        let (path, listed) = statement.rsplit_once("::").expect("a path");
        let modules: Vec<String> = path.split("::").map(str::to_owned).collect();
        for name in listed.trim_matches(['{', '}']).split(',') {
            names.insert(name.trim().to_owned(), modules.clone());
        }
    }
    names
}

/// The paths that a line names from `root` on: `root::a::b`, and each of `root::{a, b}`.
fn paths_after<'a>(line: &'a str, root: &str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices(root) {
        let is_whole =
            !line[..at].ends_with(|before: char| before.is_alphanumeric() || "_:".contains(before));
        let rest = &line[at + root.len()..];
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        if !is_whole {
            continue;
        }
        match rest.strip_prefix('{') {
            Some(group) => {
                let group = group.split('}').next().unwrap_or(group);
                let each = group.split(',').map(str::trim).filter(|one| !one.is_empty());
                let paths = each.filter_map(|one| one.split_whitespace().next());
                found.extend(paths.map(|path| path.split("::").collect()));
            }
            None => {
                let path = rest.split(|c| !is_name(c)).next().unwrap_or(rest);
                found.push(path.trim_end_matches(':').split("::").collect());
            }
        }
    }
    found
}

#[test]
fn no_part_of_the_core_knows_what_stands_above_it() {
    let names = names_of_the_root();
    let (mut wrong, mut arrows) = (Vec::new(), 0);
    for (file, modules, text) in sources() {
        let here: Vec<&str> = modules.iter().map(String::as_str).collect();
        if here.is_empty() {
            continue;
        }
        let (own_floor, own) = floor(&here).unwrap_or_else(|| panic!("{file:?} has no place in the house"));
        for (number, line) in statements(&text) {
            let line = line.trim_start();
            if line.starts_with("//") {
                continue;
            }
            let mut named: Vec<Vec<&str>> = Vec::new();
            for path in paths_after(line, "crate::") {
                match names.get(path[0]) {
                    Some(modules) => named.push(modules.iter().map(String::as_str).collect()),
                    None => named.push(path),
                }
            }
            for path in paths_after(line, "super::") {
                let up = 1 + path.iter().take_while(|part| **part == "super").count();
                named.push([&here[..here.len().saturating_sub(up)], &path[up - 1..]].concat());
            }
            for path in named {
                let Some((floor, part)) = floor(&path) else { continue };
                arrows += usize::from(part != own);
                if floor < own_floor || (floor == own_floor && part != own) {
                    wrong.push(format!("{}:{}: {own} knows {part}", file.display(), number));
                }
            }
        }
    }
    assert!(arrows > 300, "only {arrows} arrows were found: the sources are read wrongly");
    assert!(wrong.is_empty(), "arrows that run back:\n{}", wrong.join("\n"));
}

/// Which of a recipe's files a path leads into, `mod` for what stands in none of the others; `None` if it leads elsewhere.
fn file_of<'a>(
    path: &[&'a str],
    recipe: &str,
    files: &BTreeMap<String, BTreeSet<String>>,
) -> Option<&'a str> {
    match path {
        ["recipes", of, rest @ ..] if *of == recipe => {
            Some(rest.first().copied().filter(|first| files.contains_key(*first)).unwrap_or("mod"))
        }
        _ => None,
    }
}

/// For each recipe that is a folder: its files, and which others each of them names. What `mod.rs` says in a `pub use` it
/// does not use itself.
fn files_of_recipes() -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
    let sources = sources();
    let mut recipes: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    let is_in_a_folder = |modules: &[String]| modules.len() > 2 && modules[0] == "recipes";
    for (_, modules, _) in sources.iter().filter(|(_, modules, _)| is_in_a_folder(modules)) {
        recipes.entry(modules[1].clone()).or_default().entry(modules[2].clone()).or_default();
    }
    for (_, modules, text) in &sources {
        let here: Vec<&str> = modules.iter().map(String::as_str).collect();
        let ["recipes", recipe, within @ ..] = &*here else { continue };
        let Some(files) = recipes.get_mut(*recipe) else { continue };
        let own = within.first().copied().unwrap_or("mod");
        let mut named = BTreeSet::new();
        for (_, line) in statements(text) {
            let line = line.trim_start();
            if line.starts_with("//") || (own == "mod" && line.starts_with("pub") && line.contains(" use ")) {
                continue;
            }
            let mut paths: Vec<Vec<&str>> = paths_after(line, "crate::");
            for path in paths_after(line, "super::") {
                let up = 1 + path.iter().take_while(|part| **part == "super").count();
                paths.push([&here[..here.len().saturating_sub(up)], &path[up - 1..]].concat());
            }
            if own == "mod" {
                let children =
                    files.keys().filter(|file| !paths_after(line, &format!("{file}::")).is_empty());
                paths.extend(children.map(|file| vec!["recipes", recipe, file]));
                paths.extend(paths_after(line, "self::").into_iter().map(|path| [&here[..], &path].concat()));
            }
            named.extend(paths.iter().filter_map(|path| file_of(path, recipe, files)).map(str::to_owned));
        }
        named.remove(own);
        files.entry(own.to_owned()).or_default().extend(named);
    }
    recipes
}

#[test]
fn no_files_of_a_recipe_know_each_other_in_a_ring() {
    let recipes = files_of_recipes();
    assert!(recipes.len() > 4, "only {} recipes were found: the sources are read wrongly", recipes.len());
    for (recipe, files) in &recipes {
        let arrows: usize = files.values().map(BTreeSet::len).sum();
        assert!(arrows >= files.len() - 1, "{recipe}: only {arrows} arrows were found");
        // Again and again without those that know nobody who is left.
        let mut left = files.clone();
        while let Some(lowest) = left.iter().find(|(_, knows)| knows.is_empty()).map(|(file, _)| file.clone())
        {
            left.remove(&lowest);
            for knows in left.values_mut() {
                knows.remove(&lowest);
            }
        }
        assert!(left.is_empty(), "the files of {recipe} that are left over: {left:?}");
    }
}

/// Of these every system has its own, and one of them is compiled.
const ONE_PER_SYSTEM: [&str; 2] = ["Ready", "Stream"];

/// The name of the type that a line defines; what a trait's implementation calls `type` is none.
fn defined_type(line: &str) -> Option<&str> {
    let visible = line.trim_start().strip_prefix("pub").map_or(line.trim_start(), |rest| {
        rest.strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .map_or(rest, |(_, rest)| rest)
            .trim_start()
    });
    let (keyword, rest) = visible.split_once(' ')?;
    let is_type = matches!(keyword, "struct" | "enum" | "trait" | "union");
    let is_alias = keyword == "type" && !line.starts_with(' ');
    let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
    ((is_type || is_alias) && name.starts_with(char::is_uppercase)).then_some(name)
}

#[test]
fn no_two_types_of_the_core_have_one_name() {
    assert_eq!(defined_type("    pub(crate) struct Wait<'a> {"), Some("Wait"));
    assert_eq!(defined_type("pub type Result<T> = std::result::Result<T, Error>;"), Some("Result"));
    assert_eq!(defined_type("    type Target = Handle;"), None);
    let mut files: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for (file, modules, text) in sources() {
        // There each type has the name of the one whose verbs it makes blocking ones.
        if modules.first().is_some_and(|part| part == "blocking") {
            continue;
        }
        for name in text.lines().filter_map(defined_type) {
            files.entry(name.to_owned()).or_default().insert(file.clone());
        }
    }
    assert!(files.len() > 400, "only {} types were found: the sources are read wrongly", files.len());
    files.retain(|name, files| files.len() > 1 && !ONE_PER_SYSTEM.contains(&name.as_str()));
    assert!(files.is_empty(), "more than one type has each of these names: {files:#?}");
}

#[test]
fn only_the_guest_and_its_door_know_the_crate_zookeeper_client() {
    let knows = |text: &str| {
        text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains("zookeeper_client"))
    };
    let found: Vec<_> = sources().into_iter().filter(|(.., text)| knows(text)).collect();
    assert!(!found.is_empty(), "the sources are read wrongly");
    for (file, modules, _) in found {
        assert!(
            ["session::wire::guest", "client"].contains(&&*modules.join("::")),
            "{} knows it",
            file.display()
        );
    }
}
