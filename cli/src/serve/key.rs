//! Who may see the page: whoever knows the token. It is in the address that is printed, and a browser that has opened that one
//! has it in a cookie; programs can send it as `Authorization: Bearer TOKEN`, which no list of processes shows.

use zeroize::Zeroizing;

pub(super) struct Key {
    token: Zeroizing<String>,
    /// With the port: browsers keep one cookie of a name for all servers of a machine.
    cookie: String,
}

/// Fewer characters can be guessed.
const SHORTEST: usize = 16;

impl Key {
    pub(super) fn new(token: String, port: u16) -> Key {
        Key { token: Zeroizing::new(token), cookie: format!("zkrecipes-{port}") }
    }

    /// Whether one of these has the token.
    pub(super) fn opens(
        &self,
        query: Option<&str>,
        cookies: Option<&str>,
        authorization: Option<&str>,
    ) -> bool {
        let in_address = query.and_then(|query| query.strip_prefix("token="));
        let in_cookie = cookies.into_iter().flat_map(|cookies| cookies.split(';')).find_map(|cookie| {
            let (name, value) = cookie.split_once('=')?;
            (name.trim() == self.cookie).then_some(value.trim())
        });
        let in_header = authorization.and_then(|given| given.strip_prefix("Bearer "));
        [in_address, in_cookie, in_header].into_iter().flatten().any(|given| self.is(given))
    }

    /// However much of it is right, the answer takes as long.
    fn is(&self, given: &str) -> bool {
        let (own, given) = (self.token.as_bytes(), given.as_bytes());
        own.len() == given.len() && own.iter().zip(given).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }

    /// The header that gives it to a browser: no script can read it, and no page of another site makes a browser send it.
    pub(super) fn cookie(&self) -> String {
        format!("Set-Cookie: {}={}; Path=/; HttpOnly; SameSite=Strict\r\n", self.cookie, &*self.token)
    }
}

/// What is wrong with a token that somebody has chosen.
pub(super) fn problem(token: &str) -> Option<&'static str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    match token {
        token if token.len() < SHORTEST => Some("must have 16 characters or more"),
        token if !token.bytes().all(fits) => Some("may have letters, digits and -._~ only"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let key = Key::new("0123456789abcdef".to_owned(), 7181);
        assert!(key.opens(Some("token=0123456789abcdef"), None, None));
        assert!(key.opens(None, Some("a=b; zkrecipes-7181=0123456789abcdef; c"), None));
        assert!(key.opens(Some("token=wrong"), None, Some("Bearer 0123456789abcdef")));
        for (query, cookies, authorization) in [
            (None, None, None),
            (Some(""), Some(""), Some("")),
            (Some("token="), Some("zkrecipes-7181="), Some("Bearer ")),
            (Some("token=0123456789abcdee"), None, Some("0123456789abcdef")),
            (
                Some("token=0123456789abcdef0"),
                Some("zkrecipes-7182=0123456789abcdef"),
                Some("Basic 0123456789abcdef"),
            ),
        ] {
            assert!(!key.opens(query, cookies, authorization), "{query:?} {cookies:?} {authorization:?}");
        }
    }

    #[test]
    fn a_token_that_can_be_guessed_or_not_be_written_is_none() {
        assert_eq!(problem("0123456789abcdef"), None);
        for token in ["", "0123456789abcde", "0123456789 abcdef", "0123456789abcdef;", "0123456789äbcdef"] {
            assert!(problem(token).is_some(), "{token}");
        }
    }
}
