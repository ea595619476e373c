//! Patterns for paths and names: `?` and `*` stay within one name, `**` crosses `/`.

/// Whether the whole text matches the pattern.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (p, t) = (pattern.as_bytes(), text.as_bytes());
    let (mut pi, mut ti) = (0, 0);
    // Where to try again when what follows a star does not fit: (after the star, in the text, crosses slashes).
    let mut retry: Vec<(usize, usize, bool)> = Vec::new();
    loop {
        if pi < p.len() && p[pi] == b'*' {
            let crosses = p.get(pi + 1) == Some(&b'*');
            pi += if crosses { 2 } else { 1 };
            retry.push((pi, ti, crosses));
            continue;
        }
        if pi == p.len() && ti == t.len() {
            return true;
        }
        let fits = pi < p.len() && ti < t.len() && (p[pi] == t[ti] || (p[pi] == b'?' && t[ti] != b'/'));
        if fits {
            pi += 1;
            ti += 1;
            continue;
        }
        loop {
            let Some((after, at, crosses)) = retry.pop() else { return false };
            if at < t.len() && (crosses || t[at] != b'/') {
                retry.push((after, at + 1, crosses));
                (pi, ti) = (after, at + 1);
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn one_star_stays_within_a_name_and_two_cross() {
        assert!(matches("/locks/*", "/locks/a"));
        assert!(!matches("/locks/*", "/locks/a/b"));
        assert!(matches("/locks/**", "/locks/a/b"));
        assert!(matches("**", "/x/y"));
        assert!(matches("/**/b", "/a/x/b"));
        assert!(matches("/a?c*", "/abcdef"));
        assert!(!matches("/a?c", "/a/c"));
        assert!(!matches("/a", "/a/"));
        assert!(matches("create*", "create2"));
        assert!(matches("", ""));
        assert!(!matches("", "x"));
    }
}
