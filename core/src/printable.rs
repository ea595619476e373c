//! What others wrote, as a terminal can show it.

use std::borrow::Cow;

/// Whether it steers a terminal and is not shown: the controls, what ends a line elsewhere, and what turns the direction of
/// writing, which would show the rest of a line in another order.
pub fn steers(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// With what steers a terminal written as Rust writes it, such as `\u{9b}`: errors and logs repeat what others wrote.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        match steers(char) {
            true => shown.extend(char.escape_default()),
            false => shown.push(char),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_steers_a_terminal_is_written_out() {
        for (text, shown) in [
            ("web1: äöü", "web1: äöü"),
            ("a\nb\t", "a\\nb\\t"),
            ("\u{1b}[2J\u{9b}2J\u{7f}", "\\u{1b}[2J\\u{9b}2J\\u{7f}"),
            (
                "\u{202e}\u{2067}\u{200e}\u{200f}\u{61c}\u{2028}",
                "\\u{202e}\\u{2067}\\u{200e}\\u{200f}\\u{61c}\\u{2028}",
            ),
        ] {
            assert_eq!(escaped(text), shown);
        }
    }
}
