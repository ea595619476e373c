//! What a scenario expects, compared with what was answered; and its variables.

use super::Play;
use crate::driver::Answer;
use crate::scenario::Step;
use crate::world::Told;

impl Play<'_> {
    /// Compares an answer with what the step expects, and captures what it names.
    pub(super) fn accept(&mut self, step: &Step, answer: &Answer) -> Told<()> {
        let expect = step.expect.clone().unwrap_or_else(|| vec!["ok".into()]);
        let mut captured = Vec::new();
        let fits = match expect[0].as_str() {
            "any" => true,
            "ok" if expect.len() == 1 => answer.ok,
            // The reason behind an error's name may be left out.
            "error" => {
                let said = answer.values.get(..expect.len() - 1).unwrap_or_default();
                !answer.ok && self.fits(&expect[1..], said, &mut captured)
            }
            "nothing" => answer.ok && answer.values.is_empty(),
            "at-most" if expect.len() == 2 => {
                answer.ok && answer.values.len() as i128 <= number(&self.fill(&expect[1])?)?
            }
            _ => answer.ok && self.fits(&expect, &answer.values, &mut captured),
        };
        if !fits {
            return Err(format!("expected `{}`, got `{answer}`", expect.join(" ")));
        }
        self.variables.extend(captured);
        Ok(())
    }

    pub(super) fn fits(
        &self,
        expect: &[String],
        values: &[String],
        captured: &mut Vec<(String, String)>,
    ) -> bool {
        expect.len() == values.len()
            && expect.iter().zip(values).all(|(expect, value)| match expect.strip_prefix('$') {
                Some(name) if !self.variables.contains_key(name) && !name.contains('/') => {
                    captured.push((name.to_owned(), value.clone()));
                    true
                }
                _ => self
                    .fill(expect)
                    .is_ok_and(|expect| expect.split('|').any(|pattern| matches_pattern(pattern, value))),
            })
    }

    pub(super) fn fill(&self, word: &str) -> Told<String> {
        let Some(at) = word.find('$') else { return Ok(word.to_owned()) };
        let rest = &word[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let value =
            self.variables.get(&rest[..end]).ok_or_else(|| format!("${} has no value yet", &rest[..end]))?;
        self.fill(&format!("{}{value}{}", &word[..at], &rest[end..]))
    }
}

pub(super) fn check(words: &[&str]) -> Told<()> {
    for part in words.windows(3).step_by(2) {
        let (left, right) = (number(part[0])?, number(part[2])?);
        let holds = match part[1] {
            "<" => left < right,
            "<=" => left <= right,
            "==" => left == right,
            "!=" => left != right,
            other => return Err(format!("{other} compares nothing")),
        };
        if !holds {
            return Err(format!("{left} {} {right} does not hold", part[1]));
        }
    }
    Ok(())
}

pub(super) fn number(text: &str) -> Told<i128> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

/// `a|b`: one of these.
pub(super) fn fits_any(patterns: &str, text: &str) -> bool {
    patterns.split('|').any(|pattern| matches_pattern(pattern, text))
}

/// `*` stands for anything, `?` for one character.
pub(super) fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut rest = text.chars();
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .any(|at| matches_pattern(&pattern[1..], &text[at..])),
        Some(first) => {
            rest.next().is_some_and(|c| first == '?' || first == c)
                && matches_pattern(&pattern[first.len_utf8()..], rest.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches_pattern("create*", "create2"));
        assert!(matches_pattern("*lock-*", "_c_1-lock-0001"));
        assert!(matches_pattern("a??", "abc"));
        assert!(!matches_pattern("a??", "ab"));
        assert!(!matches_pattern("create", "create2"));
    }

    #[test]
    fn comparisons_chain() {
        assert!(check(&["1", "<", "2", "<", "3"]).is_ok());
        assert!(check(&["1", "<", "2", "<", "2"]).is_err());
    }
}
