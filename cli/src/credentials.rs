//! Who we are towards the servers: from the command line, from files that nobody else may read, or from the environment.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use zeroize::Zeroizing;
use zkrecipes::{Auth, SaslOptions, TlsOptions};

use crate::outcome::{self, Failure, Outcome};
use crate::system::files::exposure;

/// What makes us who we are. A certificate is of no use without its key.
const VARIABLES: [&str; 6] = [
    "ZKRECIPES_AUTH",
    "ZKRECIPES_AUTH_FILE",
    "ZKRECIPES_SASL",
    "ZKRECIPES_SASL_FILE",
    "ZKRECIPES_TLS_CERT",
    "ZKRECIPES_TLS_KEY",
];

/// More is no credential, and may be a device that never ends.
const LONGEST_FILE: u64 = 64 << 10;

/// A command that we run has no business with the servers, and what it runs in turn even less.
pub(crate) fn withhold(command: &mut std::process::Command) {
    for variable in VARIABLES {
        command.env_remove(variable);
    }
}

/// The credentials of the first source that has some.
pub(crate) fn auth(given: &[Zeroizing<String>], file: Option<&Path>) -> Outcome<Vec<Auth>> {
    if !given.is_empty() {
        return given.iter().map(|given| one_auth(given, "--auth")).collect();
    }
    let of_file = |file: &Path, from: &str| -> Outcome<Vec<Auth>> {
        let content = secret_file(file, from)?;
        let auths: Vec<Auth> = lines(&content).map(|line| one_auth(line, from)).collect::<Outcome<_>>()?;
        match auths.is_empty() {
            true => Err(Failure::usage(format!("{from}: the file is empty"))),
            false => Ok(auths),
        }
    };
    if let Some(file) = file {
        return of_file(file, "--auth-file");
    }
    if let Some(given) = secret("ZKRECIPES_AUTH") {
        return Ok(vec![one_auth(&given, "ZKRECIPES_AUTH")?]);
    }
    match variable("ZKRECIPES_AUTH_FILE") {
        Some(file) => of_file(Path::new(&file), "ZKRECIPES_AUTH_FILE"),
        None => Ok(Vec::new()),
    }
}

/// As above.
pub(crate) fn sasl(given: Option<&Zeroizing<String>>, file: Option<&Path>) -> Outcome<Option<SaslOptions>> {
    let of_file = |file: &Path, from: &str| {
        let content = secret_file(file, from)?;
        one_sasl(lines(&content).next().unwrap_or_default(), from).map(Some)
    };
    if let Some(given) = given {
        return one_sasl(given, "--sasl").map(Some);
    }
    if let Some(file) = file {
        return of_file(file, "--sasl-file");
    }
    if let Some(given) = secret("ZKRECIPES_SASL") {
        return one_sasl(&given, "ZKRECIPES_SASL").map(Some);
    }
    match variable("ZKRECIPES_SASL_FILE") {
        Some(file) => of_file(Path::new(&file), "ZKRECIPES_SASL_FILE"),
        None => Ok(None),
    }
}

/// What the command line says of TLS.
pub(crate) struct Tls {
    pub(crate) ca: Option<String>,
    pub(crate) cert: Option<String>,
    pub(crate) key: Option<Zeroizing<String>>,
}

impl Tls {
    /// With what the environment adds; `None` for plain text.
    pub(crate) fn options(self, verify_hostname: bool, allow_expired_crls: bool) -> Option<TlsOptions> {
        let mut options =
            TlsOptions::default().verify_hostname(verify_hostname).allow_expired_crls(allow_expired_crls);
        // An empty one is no word for plain text: the core refuses it.
        options.ca = self.ca.or_else(|| std::env::var("ZKRECIPES_TLS_CA").ok());
        // A certificate and its key come from one place.
        let (cert, key) = match (self.cert, self.key) {
            (None, None) => (variable("ZKRECIPES_TLS_CERT"), secret("ZKRECIPES_TLS_KEY")),
            given => given,
        };
        // Files of keys come from many hands, and are in use: a word, where a file of our own is refused.
        if let Some(file) = key.as_ref().filter(|key| !key.contains("-----BEGIN"))
            && let Some(problem) = std::fs::metadata(&**file).ok().and_then(|known| exposure(&known))
        {
            outcome::say(&format!("WARNING: the file of the TLS key {problem}; chmod 600 it"));
        }
        (options.cert, options.key) = (cert, key.map(|mut key| std::mem::take(&mut *key)));
        let is_asked_for = options.ca.is_some() || options.cert.is_some() || options.key.is_some();
        (is_asked_for || !verify_hostname || allow_expired_crls).then_some(options)
    }
}

/// What stands in a file that nobody else may read. The message does not repeat any of it.
pub(crate) fn secret_file(file: &Path, from: &str) -> Outcome<Zeroizing<String>> {
    let failure = |problem: String| Failure::usage(format!("{from}: the file {file:?} {problem}"));
    let unreadable = |error: std::io::Error| failure(format!("cannot be read: {error}"));
    let mut opened = File::open(file).map_err(unreadable)?;
    // Of the file that is open: another one may have taken its name by now.
    if let Some(problem) = exposure(&opened.metadata().map_err(unreadable)?) {
        return Err(failure(format!("{problem}; chmod 600 it, and change the credential")));
    }
    // With room for all of it: a buffer that grows leaves copies behind.
    let mut content = Zeroizing::new(Vec::with_capacity(LONGEST_FILE as usize));
    opened.by_ref().take(LONGEST_FILE).read_to_end(&mut content).map_err(unreadable)?;
    match std::str::from_utf8(&content) {
        Ok(text) => Ok(Zeroizing::new(text.to_owned())),
        Err(_) => Err(failure("is no text".to_owned())),
    }
}

fn lines(content: &str) -> impl Iterator<Item = &str> {
    content.lines().filter(|line| !line.is_empty())
}

/// A variable of the environment; an empty one is none.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn secret(name: &str) -> Option<Zeroizing<String>> {
    variable(name).map(Zeroizing::new)
}

/// The message does not repeat what was given: it may be a password.
fn one_auth(given: &str, from: &str) -> Outcome<Auth> {
    match given.split_once(':') {
        Some((scheme, credential)) if !scheme.is_empty() => Ok(Auth::new(scheme, credential)),
        _ => Err(Failure::usage(format!("{from} is scheme:credential, such as digest:user:password"))),
    }
}

/// As above.
fn one_sasl(given: &str, from: &str) -> Outcome<SaslOptions> {
    match given.split_once(':') {
        Some((user, password)) if !user.is_empty() => Ok(SaslOptions::new(user, password)),
        _ => Err(Failure::usage(format!("{from} is user:password"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_makes_us_who_we_are_is_handed_on() {
        let mut command = std::process::Command::new("env");
        withhold(&mut command);
        let withheld: Vec<_> = command.get_envs().map(|(name, value)| (name.to_str(), value)).collect();
        for name in ["AUTH", "AUTH_FILE", "SASL", "SASL_FILE", "TLS_CERT", "TLS_KEY"] {
            assert!(withheld.contains(&(Some(&format!("ZKRECIPES_{name}")), None)), "{name}");
        }
        assert!(!withheld.iter().any(|(name, _)| *name == Some("ZKRECIPES_HOSTS")));
    }
}
