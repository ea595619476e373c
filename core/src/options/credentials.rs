//! Who we are towards the servers, and how the connection is kept from others. Secrets never reach a `Debug` output, and
//! are overwritten when the options are dropped.

use std::fmt;

use zeroize::Zeroize;

use super::{AclChoice, ClientOptions, TlsOptions};
use crate::error::{Error, Result};

/// A credential such as scheme `digest` and credential `user:password`.
#[derive(Clone)]
#[non_exhaustive]
pub struct Auth {
    pub scheme: String,
    pub credential: Vec<u8>,
}

impl Auth {
    /// The credential to present under a scheme.
    pub fn new(scheme: impl Into<String>, credential: impl Into<Vec<u8>>) -> Auth {
        Auth { scheme: scheme.into(), credential: credential.into() }
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Auth({}, …)", self.scheme)
    }
}

impl Zeroize for Auth {
    fn zeroize(&mut self) {
        self.credential.zeroize();
    }
}

impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |given: &Option<String>| match given {
            Some(text) if is_pem(text) => Some("PEM…".to_owned()),
            given => given.as_deref().map(|text| path_of(text).unwrap_or("…").to_owned()),
        };
        f.debug_struct("TlsOptions")
            .field("ca", &shown(&self.ca))
            .field("cert", &shown(&self.cert))
            .field("key", &shown(&self.key))
            .field("verify_hostname", &self.verify_hostname)
            .field("allow_expired_crls", &self.allow_expired_crls)
            .finish()
    }
}

impl Zeroize for TlsOptions {
    fn zeroize(&mut self) {
        self.key.zeroize();
    }
}

/// Whether this is PEM itself and no path.
pub(crate) fn is_pem(given: &str) -> bool {
    given.contains("-----BEGIN")
}

/// The longest line of Base64 that may be taken for a path: the last line of a key can
/// begin with a slash, and so look like a path.
const LONGEST_PATH_IN_BASE64: usize = 40;

/// The path as it was given, if an error may repeat it: not if it may be a private key without its first line, or a
/// part of one, with or without line breaks.
pub(crate) fn path_of(given: &str) -> Option<&str> {
    let is_one_line = !given.contains(|c: char| c.is_control()) && !given.contains("\\n");
    let in_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let is_shown = match given.contains('.') {
        true => !given
            .split(|c| !in_base64(c))
            .any(|run| run.len() > LONGEST_PATH_IN_BASE64 && !run.contains('/')),
        false => {
            given.starts_with('/') && (given.len() <= LONGEST_PATH_IN_BASE64 || !given.chars().all(in_base64))
        }
    };
    (is_one_line && is_shown && !given.contains("-----")).then_some(given)
}

/// SASL with DIGEST-MD5: the password itself does not travel. GSSAPI (Kerberos) is not built in.
#[derive(Clone)]
#[non_exhaustive]
pub struct SaslOptions {
    pub user: String,
    pub password: String,
}

impl SaslOptions {
    /// Who we are, and how we prove it.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> SaslOptions {
        SaslOptions { user: user.into(), password: password.into() }
    }
}

impl fmt::Debug for SaslOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SaslOptions({}, …)", self.user)
    }
}

impl Zeroize for SaslOptions {
    fn zeroize(&mut self) {
        self.password.zeroize();
    }
}

macro_rules! overwritten_when_dropped {
    ($($options:ident)*) => {$(
        impl Drop for $options {
            fn drop(&mut self) {
                self.zeroize();
            }
        }
    )*};
}

overwritten_when_dropped! { Auth TlsOptions SaslOptions }

fn is_user_and_password(credential: &[u8]) -> bool {
    credential.iter().position(|byte| *byte == b':').is_some_and(|colon| colon > 0)
}

/// Far more than any scheme needs, and far less than the server's packet limit.
const MOST_CREDENTIAL: usize = 64 << 10;

impl ClientOptions {
    /// Whether the servers are told who we are, so that nodes can be ours.
    pub(crate) fn has_credentials(&self) -> bool {
        !self.auth.is_empty() || self.sasl.is_some()
    }

    pub(super) fn check_credentials(&self) -> Result<()> {
        if self.auth.iter().any(|auth| auth.scheme.is_empty()) {
            return Err(Error::invalid("auth", "a credential needs a scheme such as digest"));
        }
        // The server would take it, for a user whom nobody meant; and an identity without a password protects nothing.
        if self.auth.iter().any(|auth| auth.scheme == "digest" && !is_user_and_password(&auth.credential)) {
            return Err(Error::invalid("auth", "a credential of the scheme digest is user:password"));
        }
        // It goes to the server in a packet of its own, with every connection.
        if self.auth.iter().any(|auth| auth.scheme.len() + auth.credential.len() > MOST_CREDENTIAL) {
            return Err(Error::invalid(
                "auth",
                format!("a credential must be at most {MOST_CREDENTIAL} bytes"),
            ));
        }
        if let Some(sasl) = &self.sasl {
            let has = |name, given: &str| match given {
                "" => Err(Error::invalid(name, "must not be empty")),
                _ => Ok(()),
            };
            has("sasl.user", &sasl.user)?;
            has("sasl.password", &sasl.password)?;
        }
        // A server can make an identity of the certificate that it asks for.
        let has_certificate = self.tls.as_ref().is_some_and(|tls| tls.cert.is_some());
        if self.acl == AclChoice::Creator && !self.has_credentials() && !has_certificate {
            return Err(Error::invalid(
                "acl",
                "creator needs credentials: give auth, sasl or tls.cert as well",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_reach_a_debug_output() {
        let tls = TlsOptions::default().ca("/ca.pem").key("-----BEGIN PRIVATE KEY-----\nhunter2");
        let options = ClientOptions::default()
            .auth(Auth::new("digest", "user:hunter2"))
            .sasl(SaslOptions::new("user", "hunter2"))
            .tls(tls);
        for text in [format!("{options:?}"), format!("{options:#?}")] {
            assert!(!text.contains("hunter2"), "{text}");
            assert!(text.contains("/ca.pem"), "{text}");
        }
    }

    #[test]
    fn a_digest_is_a_user_and_a_password() {
        let problem = |scheme: &str, credential: &str| {
            ClientOptions::default().auth(Auth::new(scheme, credential)).check_credentials().err()
        };
        for bad in ["hunter2", "", ":hunter2"] {
            let error = problem("digest", bad).expect("it is refused").to_string();
            assert!(error.contains("auth") && !error.contains("hunter2"), "{error}");
        }
        for (scheme, good) in
            [("digest", "user:hunter2"), ("digest", "user:a:b"), ("digest", "user:"), ("ip", "hunter2")]
        {
            assert!(problem(scheme, good).is_none(), "{scheme} {good}");
        }
    }

    #[test]
    fn what_may_be_a_key_is_not_taken_for_a_path() {
        for path in ["/etc/zk/me.key", "me.pem", "../keys/zk1.example.org.key", "/run/secrets/zk_key", "/key"]
        {
            assert_eq!(path_of(path), Some(path));
            assert!(format!("{:?}", TlsOptions::default().key(path)).contains(path));
        }
        let body = "MC4CAQAwBQYDK2VwBCIEIHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg==";
        for key in [
            body,
            &format!("{body}\n-----END PRIVATE KEY-----\n"),
            &format!("{body}\\n{body}"),
            &format!("Proc-Type: 4,ENCRYPTED\n\n{body}"),
            &format!("/{body}"),
            &format!("/{}\n", &body[..20]),
            &format!("{body}."),
            "hunter2",
            "hunter2-----END.",
        ] {
            assert_eq!(path_of(key), None);
            let text = format!("{:#?}", TlsOptions::default().ca(key).cert(key).key(key));
            assert!(!text.contains(&body[..20]) && !text.contains("hunter2"), "{text}");
        }
    }

    /// What a vector that was overwritten has kept of its bytes.
    fn kept(bytes: &mut Vec<u8>) -> Vec<u8> {
        // SAFETY: within the capacity, and written before it was cleared.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.capacity()) }.to_vec()
    }

    #[test]
    fn secrets_are_overwritten() {
        let mut auth = Auth::new("digest", "user:hunter2");
        auth.zeroize();
        assert_eq!(kept(&mut auth.credential), [0; 12]);
        let mut sasl = SaslOptions::new("user", "hunter2");
        sasl.zeroize();
        // SAFETY: nothing is written that is no text.
        assert_eq!(kept(unsafe { sasl.password.as_mut_vec() }), [0; 7]);
        let mut tls = TlsOptions::default().key("hunter2");
        tls.zeroize();
        assert_eq!(tls.key, None);
    }
}
