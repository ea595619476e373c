//! Paths, checked before anything is sent.

use crate::error::{Error, ErrorKind, Result};

/// The largest packet that a server takes by default (`jute.maxbuffer`); it closes the connection on more.
pub(crate) const PACKET_LIMIT: usize = 1_048_575;

/// Checks an absolute path. The root is a path too; recipes ask for [`recipe`].
pub(crate) fn validate(path: &str) -> Result<()> {
    let invalid = |problem: &str| Err(Error::invalid("path", problem).with_path(path));
    if path.is_empty() {
        return invalid("is empty; use an absolute path such as /locks/report");
    }
    if !path.starts_with('/') {
        return invalid("is relative; paths start with '/'");
    }
    if path == "/" {
        return Ok(());
    }
    if path.len() > PACKET_LIMIT {
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "too large: a path of {} bytes; a server takes at most {PACKET_LIMIT} at once",
                path.len()
            ),
        )
        .with_path(path));
    }
    if path.ends_with('/') {
        return invalid("ends with '/'; leave the last slash out");
    }
    for name in path[1..].split('/') {
        match name {
            "" => return invalid("has an empty component ('//')"),
            "." | ".." => return invalid("has a '.' or '..' component; ZooKeeper has no relative paths"),
            _ => {}
        }
    }
    match forbidden(path) {
        Some(problem) => invalid(&problem),
        None => Ok(()),
    }
}

/// Checks the path of a node that is to be created or deleted: any valid path but the root, which is always there.
pub(crate) fn changeable(path: &str) -> Result<()> {
    validate(path)?;
    if path == "/" {
        let problem = "is the root, which is always there: it can be neither created nor deleted";
        return Err(Error::invalid("path", problem).with_path(path));
    }
    Ok(())
}

/// Why this is no name of a node, if it is none.
pub(crate) fn problem_of_name(name: &str) -> Option<String> {
    match name {
        "" => Some("is empty; use a word without '/'".to_owned()),
        "." | ".." => Some("is '.' or '..'; ZooKeeper has no relative paths".to_owned()),
        name if name.contains('/') => Some("has a '/'; use a word without one".to_owned()),
        name => forbidden(name),
    }
}

/// Checks the path of a recipe: any valid path but the root and ZooKeeper's own nodes.
pub(crate) fn recipe(path: &str) -> Result<()> {
    validate(path)?;
    if path == "/" {
        return Err(Error::invalid("path", "is the root; give the recipe a path of its own").with_path(path));
    }
    if path == "/zookeeper" || path.starts_with("/zookeeper/") {
        return Err(Error::invalid("path", "belongs to ZooKeeper itself; choose another").with_path(path));
    }
    Ok(())
}

/// What no server takes: it counts in UTF-16, where everything beyond U+FFFF is a pair of surrogates.
fn forbidden(text: &str) -> Option<String> {
    let is_forbidden = |c: &char| matches!(c, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..);
    let bad = text.chars().find(is_forbidden)?;
    Some(match u32::from(bad) {
        code @ 0x1_0000.. => {
            format!("has the character U+{code:04X}; ZooKeeper takes none beyond U+FFFF, such as emoji")
        }
        code => format!("has the character U+{code:04X}, which ZooKeeper does not take"),
    })
}

/// The parent of a valid path; of a child of the root it is `/`.
pub(crate) fn parent(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(at) => &path[..at],
    }
}

/// `parent/name`, also for the root.
pub(crate) fn join(parent: &str, name: &str) -> String {
    if parent == "/" { format!("/{name}") } else { format!("{parent}/{name}") }
}

/// The last component.
pub(crate) fn name(path: &str) -> &str {
    path.rfind('/').map_or(path, |at| &path[at + 1..])
}

/// Whether a valid path is `top`, or below it.
pub(crate) fn is_within(path: &str, top: &str) -> bool {
    top == "/" || path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_paths_get_a_typed_error_that_names_the_argument() {
        for bad in [
            "",
            "a",
            "a/b",
            "//",
            "/a//b",
            "/a/",
            "/.",
            "/a/../b",
            "/a/.",
            "/a\0b",
            "/a\u{1f}",
            "/\u{e000}",
            "/\u{ffff}",
            "/\u{10000}",
            "/a/😀b",
            "/\u{10ffff}",
        ] {
            let error = validate(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{bad:?}");
            assert!(error.to_string().contains("path"), "{bad:?}");
        }
        for good in ["/", "/a", "/a/b.c", "/ü/日本", "/a/.b", "/a/..."] {
            validate(good).unwrap();
        }
        assert_eq!(validate(&format!("/{}", "x".repeat(2 << 20))).unwrap_err().kind(), ErrorKind::TooLarge);
    }

    #[test]
    fn the_root_is_neither_created_nor_deleted() {
        assert!(changeable("/").unwrap_err().to_string().contains("root"));
        assert!(changeable("a").is_err());
        changeable("/a").unwrap();
    }

    #[test]
    fn a_name_is_one_component_of_a_path() {
        for bad in ["", ".", "..", "a/b", "/", "a\n", "😀", "\u{e000}"] {
            assert!(problem_of_name(bad).is_some(), "{bad:?}");
        }
        for good in ["a", ".a", "日本", "a b"] {
            assert_eq!(problem_of_name(good), None);
        }
    }

    #[test]
    fn a_recipe_has_a_path_of_its_own() {
        assert!(recipe("/").is_err());
        assert!(recipe("/zookeeper/config").is_err());
        recipe("/zookeepers").unwrap();
    }

    #[test]
    fn paths_take_apart_and_join() {
        assert_eq!((parent("/a/b"), name("/a/b")), ("/a", "b"));
        assert_eq!((parent("/a"), name("/a")), ("/", "a"));
        assert_eq!((join("/", "a"), join("/a", "b")), ("/a".into(), "/a/b".into()));
    }
}
