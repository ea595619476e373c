//! How the URI of an instance is made: Curator's `UriSpec`, which is a text with variables for users, and its parts in JSON.

use crate::error::{Error, Result};
use crate::json::{JsonValue, write_text};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UriPart {
    pub(super) value: String,
    pub(super) is_variable: bool,
}

/// The parts of a text such as `{scheme}://{address}`, or Invalid.
pub(super) fn uri_parts(spec: &str) -> Result<Vec<UriPart>> {
    let invalid = |problem: &str| Err(Error::invalid("uri_spec", problem));
    let mut parts = Vec::new();
    let mut rest = spec;
    while !rest.is_empty() {
        let (literal, variable) = match rest.split_once('{') {
            Some((literal, rest)) => (literal, Some(rest)),
            None => (rest, None),
        };
        if literal.contains('}') {
            return invalid("has a '}' without a '{'; write {]} for the character itself");
        }
        if !literal.is_empty() {
            parts.push(UriPart { value: literal.to_owned(), is_variable: false });
        }
        let Some(variable) = variable else { break };
        let Some((name, behind)) = variable.split_once('}') else {
            return invalid("has a '{' without a '}'; write {[} for the character itself");
        };
        if name.contains('{') {
            return invalid("has a '{' in a variable; write {[} for the character itself");
        }
        let name = name.trim();
        if !name.is_empty() {
            parts.push(UriPart { value: name.to_owned(), is_variable: true });
        }
        rest = behind;
    }
    Ok(parts)
}

/// What would give these parts.
pub(super) fn uri_spec(parts: &[UriPart]) -> String {
    let spec = |part: &UriPart| match part.is_variable {
        true => format!("{{{}}}", part.value),
        false => part.value.split_inclusive(['{', '}']).fold(String::new(), |mut spec, piece| {
            let braces = piece.strip_suffix('{').map(|before| (before, "{[}"));
            let (before, brace) = braces
                .or_else(|| piece.strip_suffix('}').map(|before| (before, "{]}")))
                .unwrap_or((piece, ""));
            spec.push_str(before);
            spec.push_str(brace);
            spec
        }),
    };
    parts.iter().map(spec).collect()
}

/// As Curator's JSON has them.
pub(super) fn write_parts(to: &mut String, parts: Option<&[UriPart]>) {
    let Some(parts) = parts else { return to.push_str("null") };
    to.push_str("{\"parts\":[");
    for (at, part) in parts.iter().enumerate() {
        to.push_str(if at == 0 { "{\"value\":" } else { ",{\"value\":" });
        write_text(to, &part.value);
        to.push_str(if part.is_variable { ",\"variable\":true}" } else { ",\"variable\":false}" });
    }
    to.push_str("]}");
}

/// The same read: `None` if that is none, and no parts if it says nothing. What is null in it says nothing either.
pub(super) fn read_parts(spec: JsonValue<'_>) -> Option<Option<Vec<UriPart>>> {
    fn given<'a>(of: JsonValue<'a>, name: &str) -> Option<JsonValue<'a>> {
        of.member(name).filter(|value| !value.is_null())
    }
    let part = |part: JsonValue<'_>| {
        let is_variable = given(part, "variable").map_or(Some(false), JsonValue::flag)?;
        let value = given(part, "value").map_or(Some(String::new()), JsonValue::text)?;
        part.is_object().then_some(UriPart { value, is_variable })
    };
    if !spec.is_object() {
        return None;
    }
    let Some(parts) = given(spec, "parts") else { return Some(None) };
    let parts = parts.elements()?.into_iter().filter(|part| !part.is_null());
    parts.map(part).collect::<Option<_>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_of_others_are_variables_of_ours() {
        let odd = [UriPart { value: "a{b}".into(), is_variable: false }];
        assert_eq!(uri_spec(&odd), "a{[}b{]}");
        assert_eq!(uri_parts("a{[}b{]}").unwrap().len(), 4);
    }
}
