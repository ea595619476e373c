//! JSON as others write it: checked once as a whole, then looked into piece by piece.
//!
//! A value stays the text that it was, so what is only passed on is passed on unchanged: numbers of any length, the order of an
//! object's members, spaces. It is strict: what RFC 8259 does not have, such as NaN, a comma too many or half of a surrogate
//! pair, is refused, and so is what is nested deeper than `DEEPEST`.

use std::fmt::Write;

/// So deep may arrays and objects stand in each other: reading one uses the stack for each.
const DEEPEST: usize = 256;

/// A value: a piece of a text that was checked, without the spaces around it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonValue<'a>(&'a str);

impl<'a> JsonValue<'a> {
    /// The one value of the text; the error says what is wrong with it.
    pub(crate) fn parse(text: &'a str) -> Result<JsonValue<'a>, String> {
        let mut reader = JsonReader { text, at: 0 };
        reader.skip_spaces();
        let value = reader.value(0)?;
        reader.skip_spaces();
        match reader.peek() {
            None => Ok(value),
            Some(_) => Err(reader.problem("something stands behind the value")),
        }
    }

    /// As it was written.
    pub(crate) fn raw(self) -> &'a str {
        self.0
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == "null"
    }

    pub(crate) fn flag(self) -> Option<bool> {
        match self.0 {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// A whole number that fits; one that is written with a point or an exponent is none.
    pub(crate) fn integer(self) -> Option<i64> {
        self.0.parse().ok()
    }

    pub(crate) fn text(self) -> Option<String> {
        self.0.starts_with('"').then(|| JsonReader::of(self).string().unwrap_or_default())
    }

    /// The members of an object, by name; of two that have one name the second, as most readers do.
    pub(crate) fn member(self, name: &str) -> Option<JsonValue<'a>> {
        let mut found = None;
        if self.0.starts_with('{') {
            // It was checked, so nothing here goes wrong.
            let _ = JsonReader::of(self).object(0, |key, value| {
                if key == name {
                    found = Some(value);
                }
            });
        }
        found
    }

    pub(crate) fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// The elements of an array.
    pub(crate) fn elements(self) -> Option<Vec<JsonValue<'a>>> {
        let mut found = Vec::new();
        let is_array = self.0.starts_with('[');
        is_array.then(|| {
            let _ = JsonReader::of(self).array(0, |value| found.push(value));
            found
        })
    }
}

/// Writes a text as JSON does, with its quotes.
pub(crate) fn write_text(to: &mut String, text: &str) {
    to.push('"');
    for letter in text.chars() {
        match letter {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '\0'..='\u{1f}' => {
                let _ = write!(to, "\\u{:04x}", u32::from(letter));
            }
            _ => to.push(letter),
        }
    }
    to.push('"');
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonReader<'a> {
    fn of(value: JsonValue<'a>) -> JsonReader<'a> {
        JsonReader { text: value.0, at: 0 }
    }

    fn problem(&self, what: &str) -> String {
        format!("at byte {} {what}", self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    fn skips(&mut self, expected: u8) -> bool {
        let is_there = self.peek() == Some(expected);
        self.at += usize::from(is_there);
        is_there
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// `depth` is in how many others it stands.
    fn value(&mut self, depth: usize) -> Result<JsonValue<'a>, String> {
        let begin = self.at;
        match self.peek() {
            Some(b'{' | b'[') if depth == DEEPEST => {
                return Err(self.problem(&format!("it is nested deeper than {DEEPEST}")));
            }
            Some(b'{') => self.object(depth, |_, _| {})?,
            Some(b'[') => self.array(depth, |_| {})?,
            Some(b'"') => drop(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true")?,
            Some(b'f') => self.word("false")?,
            Some(b'n') => self.word("null")?,
            Some(_) => return Err(self.problem("no value begins like that")),
            None => return Err(self.problem("it ends where a value should be")),
        }
        Ok(JsonValue(&self.text[begin..self.at]))
    }

    fn object(&mut self, depth: usize, mut found: impl FnMut(&str, JsonValue<'a>)) -> Result<(), String> {
        self.at += 1;
        self.skip_spaces();
        if self.skips(b'}') {
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.problem("the name of a member should be, in quotes"));
            }
            let key = self.string()?;
            self.skip_spaces();
            if !self.skips(b':') {
                return Err(self.problem("a ':' should be"));
            }
            self.skip_spaces();
            let value = self.value(depth + 1)?;
            found(&key, value);
            self.skip_spaces();
            match self.next() {
                Some(b',') => self.skip_spaces(),
                Some(b'}') => return Ok(()),
                _ => return Err(self.problem("a ',' or the end of the object should be")),
            }
        }
    }

    fn array(&mut self, depth: usize, mut found: impl FnMut(JsonValue<'a>)) -> Result<(), String> {
        self.at += 1;
        self.skip_spaces();
        if self.skips(b']') {
            return Ok(());
        }
        loop {
            found(self.value(depth + 1)?);
            self.skip_spaces();
            match self.next() {
                Some(b',') => self.skip_spaces(),
                Some(b']') => return Ok(()),
                _ => return Err(self.problem("a ',' or the end of the array should be")),
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let begin = self.at;
            // All that ends a piece is a byte of its own in UTF-8, so no letter is cut.
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            text.push_str(&self.text[begin..self.at]);
            match self.next() {
                Some(b'"') => return Ok(text),
                Some(b'\\') => text.push(self.escaped()?),
                Some(_) => {
                    return Err(self.problem("a control character stands in a text; write it as \\u00.."));
                }
                None => return Err(self.problem("a text has no end")),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        Ok(match self.next() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let mut code = self.four_digits()?;
                if (0xd800..0xdc00).contains(&code) && self.skips(b'\\') && self.skips(b'u') {
                    let second = self.four_digits()?;
                    code = match second {
                        0xdc00..0xe000 => 0x1_0000 + ((code - 0xd800) << 10) + (second - 0xdc00),
                        _ => code,
                    };
                }
                char::from_u32(code).ok_or_else(|| self.problem("half of a surrogate pair stands alone"))?
            }
            _ => return Err(self.problem("a '\\' stands in a text with nothing that it could mean")),
        })
    }

    fn four_digits(&mut self) -> Result<u32, String> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else { return Err(self.problem("four hexadecimal digits should be")) };
        self.at += 4;
        Ok(digits.iter().fold(0, |code, digit| code * 16 + char::from(*digit).to_digit(16).unwrap_or(0)))
    }

    fn number(&mut self) -> Result<(), String> {
        let _ = self.skips(b'-');
        // Nothing stands behind a zero that begins it.
        if !self.skips(b'0') {
            self.digits()?;
        }
        if self.skips(b'.') {
            self.digits()?;
        }
        if self.skips(b'e') || self.skips(b'E') {
            let _ = self.skips(b'-') || self.skips(b'+');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), String> {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == begin { Err(self.problem("a digit should be")) } else { Ok(()) }
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.problem("no value begins like that"));
        }
        self.at += word.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_json_is_taken_apart() {
        let text = r#" { "a" : [1, -2.5e+3, "x"], "b": {"c": null}, "a2": true, "b" : {"c" : false} } "#;
        let value = JsonValue::parse(text).unwrap();
        assert!(value.is_object());
        let elements = value.member("a").unwrap().elements().unwrap();
        assert_eq!(elements.iter().map(|one| one.raw()).collect::<Vec<_>>(), ["1", "-2.5e+3", "\"x\""]);
        assert_eq!(value.member("b").unwrap().raw(), r#"{"c" : false}"#, "the second of one name counts");
        assert_eq!(value.member("a2").unwrap().flag(), Some(true));
        assert_eq!(value.member("c"), None);
        assert_eq!(elements[0].integer(), Some(1));
        assert_eq!(elements[1].integer(), None);
        assert_eq!(elements[0].text(), None);
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        let long = "123456789012345678901234567890.10";
        let value = JsonValue::parse(long).unwrap();
        assert_eq!((value.raw(), value.integer()), (long, None));
        assert_eq!(JsonValue::parse("-0").unwrap().integer(), Some(0));
    }

    #[test]
    fn escapes_are_read_and_written() {
        let value = JsonValue::parse(r#""\u00fc\ud83d\ude00\"\\\/\b\f\n\r\t""#).unwrap();
        let text = value.text().unwrap();
        assert_eq!(text, "ü😀\"\\/\u{8}\u{c}\n\r\t");
        let mut written = String::new();
        write_text(&mut written, &text);
        assert_eq!(written, r#""ü😀\"\\/\u0008\u000c\n\r\t""#);
        assert_eq!(JsonValue::parse(&written).unwrap().text().unwrap(), text);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for bad in [
            "",
            " ",
            "nul",
            "NaN",
            "Infinity",
            "+1",
            "01",
            "1.",
            ".5",
            "1e",
            "-",
            "'a'",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"a\nb\"",
            "[1,]",
            "[1 2]",
            "[",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "{",
            "1 2",
            "// a\n1",
            "\u{feff}1",
            "truex",
            "\"\\ud800\\",
        ] {
            assert!(JsonValue::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn it_may_not_be_nested_without_end() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(JsonValue::parse(&nested(DEEPEST)).is_ok());
        let problem = JsonValue::parse(&nested(DEEPEST + 1)).unwrap_err();
        assert!(problem.contains("nested"), "{problem}");
        assert!(JsonValue::parse(&"[".repeat(1_000_000)).is_err());
    }
}
