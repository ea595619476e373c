//! The sections of PEM that somebody wants, decoded. The others, which may be private keys, are neither decoded nor copied, and
//! what is decoded is overwritten unless it is moved away.

use std::iter::from_fn;

use zeroize::Zeroizing;

pub(super) struct Section<'a> {
    pub(super) kind: &'a str,
    pub(super) der: Zeroizing<Vec<u8>>,
}

/// Those of these kinds, and what is wrong with one; that does not repeat what was given.
pub(super) fn sections<'a>(
    text: &'a str,
    kinds: &[&str],
) -> impl Iterator<Item = Result<Section<'a>, &'static str>> {
    let mut lines = text.split(['\n', '\r']);
    from_fn(move || {
        let mut kind = None;
        let mut body: Vec<&str> = Vec::new();
        loop {
            let Some(line) = lines.next() else {
                return kind.map(|_| Err("a section has no end (-----END CERTIFICATE-----)"));
            };
            if let Some(begun) = line.strip_prefix("-----BEGIN ") {
                kind = begun.trim_end().strip_suffix("-----").filter(|kind| !kind.ends_with('-'));
                if kind.is_none() {
                    return Some(Err("a section does not begin as it should (-----BEGIN CERTIFICATE-----)"));
                }
                body.clear();
                continue;
            }
            let Some(begun) = kind else { continue };
            let ended = line.strip_prefix("-----END ").and_then(|line| line.strip_prefix(begun));
            if !ended.is_some_and(|rest| rest.starts_with("-----")) {
                body.push(line);
            } else if kinds.contains(&begun) {
                let der = decoded(&body).ok_or("a section is not Base64");
                return Some(der.map(|der| Section { kind: begun, der }));
            } else {
                kind = None;
            }
        }
    })
}

fn decoded(lines: &[&str]) -> Option<Zeroizing<Vec<u8>>> {
    // With room for all of it: what grows leaves a copy behind, which nobody overwrites.
    let room = lines.iter().map(|line| line.len()).sum();
    let mut der = Zeroizing::new(Vec::with_capacity(room));
    let (mut bits, mut held, mut padding, mut is_wrong) = (0_u32, 0, 0, false);
    for byte in lines.iter().flat_map(|line| line.bytes()).filter(|byte| !byte.is_ascii_whitespace()) {
        if byte == b'=' {
            padding += 1;
            continue;
        }
        let value = six_bits(byte);
        is_wrong |= value < 0 || padding > 0;
        bits = bits << 6 | (value & 63) as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            der.push((bits >> held) as u8);
        }
    }
    // Of six bits alone no byte comes.
    (!is_wrong && held < 6 && padding <= 2).then_some(der)
}

/// What a letter of Base64 stands for; −1 if it is none. Takes equally long for all of them: it may be that of a key.
fn six_bits(byte: u8) -> i16 {
    let byte = i16::from(byte);
    let within = |first: u8, last: u8, value: i16| {
        let (first, last) = (i16::from(first), i16::from(last));
        // All ones where it is within, or else zero.
        (((first - 1 - byte) & (byte - last - 1)) >> 8) & (byte - first + value + 1)
    };
    within(b'A', b'Z', 0)
        + within(b'a', b'z', 26)
        + within(b'0', b'9', 52)
        + within(b'+', b'+', 62)
        + within(b'/', b'/', 63)
        - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Option<Vec<u8>> {
        decoded(&text.lines().collect::<Vec<_>>()).map(|der| der.to_vec())
    }

    #[test]
    fn base64_is_decoded_and_nothing_else() {
        const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for byte in 0..=255_u8 {
            let place = LETTERS.bytes().position(|letter| letter == byte);
            assert_eq!(six_bits(byte), place.map_or(-1, |place| place as i16), "{byte}");
        }
        for (text, meant) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9v\nYm\tFy ", b"foobar"),
            ("Zg", b"f"),
        ] {
            assert_eq!(bytes(text).as_deref(), Some(meant), "{text}");
        }
        for text in ["Z", "Zm9vY", "Zm=9", "Zm9v!", "Zm9v===", "Zm9\u{e9}"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn sections_of_other_kinds_are_passed_over() {
        let kinds = |text: &str, kinds: &[&str]| {
            sections(text, kinds)
                .map(|found| found.map(|found| (found.kind.to_owned(), found.der.to_vec())))
                .collect::<Vec<_>>()
        };
        let text = "said\r\n-----BEGIN A-----\r\n!\r\n-----END A-----\r\n-----BEGIN B----- \nZm9v\n-----END B-----\n\
                    Zm9v\n-----BEGIN B-----\nZg\n-----BEGIN C-----\nZm8\n-----END C-----\n";
        assert_eq!(
            kinds(text, &["B", "C"]),
            [Ok(("B".to_owned(), b"foo".to_vec())), Ok(("C".to_owned(), b"fo".to_vec()))]
        );
        assert_eq!(kinds(text, &["A"]), [Err("a section is not Base64")]);
        assert_eq!(kinds("-----BEGIN A-----\nZm9v\n-----END B-----\n", &["A"]).len(), 1);
        assert!(
            kinds("-----BEGIN A-----\nZm9v\n", &["A"])[0].clone().is_err_and(|said| said.contains("no end"))
        );
        assert!(kinds("-----BEGIN A\nZm9v\n", &["A"])[0].clone().is_err_and(|said| said.contains("begin")));
    }
}
