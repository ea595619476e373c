//! SASL's DIGEST-MD5 (RFC 2831), the client's side, as ZooKeeper's servers speak it.

use std::collections::BTreeMap;

use md5::{Digest, compute};
use zeroize::Zeroizing;

/// What RFC 2831 allows a challenge to take.
const LONGEST_CHALLENGE: usize = 2048;
/// Who servers of ZooKeeper say that they are, whatever their names.
const URI: &str = "zookeeper/zk-sasl-md5";

/// One exchange.
pub(super) struct DigestMd5 {
    user: String,
    password: Zeroizing<String>,
    /// A nonce of ours.
    cnonce: String,
    uri: &'static str,
    /// What the server has to prove that it knows the password, too; none before we have answered.
    expected: Option<String>,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DigestStep {
    Send(Vec<u8>),
    Done,
}

impl DigestMd5 {
    pub(super) fn new(user: &str, password: &str, cnonce: String) -> DigestMd5 {
        let password = Zeroizing::new(password.to_owned());
        DigestMd5 { user: user.to_owned(), password, cnonce, uri: URI, expected: None }
    }

    /// Whether the server has been told anything yet.
    pub(super) fn has_answered(&self) -> bool {
        self.expected.is_some()
    }

    /// Answers what the server has sent.
    pub(super) fn step(&mut self, challenge: &[u8]) -> Result<DigestStep, &'static str> {
        let said = parse(challenge)?;
        match self.expected.take() {
            None => self.respond(&said).map(DigestStep::Send),
            Some(expected) if said.get("rspauth") == Some(&expected) => Ok(DigestStep::Done),
            Some(_) => Err("the server does not know the password (sasl)"),
        }
    }

    fn respond(&mut self, said: &BTreeMap<String, String>) -> Result<Vec<u8>, &'static str> {
        let nonce = said.get("nonce").ok_or("the server's challenge has no nonce (sasl)")?;
        if said.get("algorithm").is_some_and(|algorithm| algorithm != "md5-sess") {
            return Err("the server asks for another algorithm than md5-sess (sasl)");
        }
        if said.get("qop").is_some_and(|all| !all.split(',').any(|one| one.trim() == "auth")) {
            return Err("the server asks for more than authentication (sasl); give tls");
        }
        let realm = said.get("realm").map_or("", String::as_str);
        let is_utf8 = said.get("charset").is_some_and(|charset| charset == "utf-8");
        let proof = self.proof(realm, nonce, "AUTHENTICATE:");
        self.expected = Some(self.proof(realm, nonce, ":"));
        let charset = if is_utf8 { "charset=utf-8," } else { "" };
        let (user, realm, nonce, cnonce, uri) =
            (quoted(&self.user), quoted(realm), quoted(nonce), quoted(&self.cnonce), quoted(self.uri));
        Ok(format!(
            "{charset}username={user},realm={realm},nonce={nonce},cnonce={cnonce},nc=00000001,qop=auth,digest-uri={uri},response={proof}"
        )
        .into_bytes())
    }

    /// That somebody knows the password; `who` tells the client's proof from the server's.
    fn proof(&self, realm: &str, nonce: &str, who: &str) -> String {
        let parts = [&self.user, realm, &self.password];
        // With room for all of it: a buffer that grows leaves copies behind.
        let mut secret = Zeroizing::new(Vec::with_capacity(parts.map(|part| part.len() + 1).iter().sum()));
        for (i, part) in parts.into_iter().enumerate() {
            if i > 0 {
                secret.push(b':');
            }
            latin(part, &mut secret);
        }
        let digest = Zeroizing::new(compute(&*secret).0);
        let a1 = Zeroizing::new([&digest[..], format!(":{nonce}:{}", self.cnonce).as_bytes()].concat());
        let a2 = compute(format!("{who}{}", self.uri));
        hex(compute(format!("{}:{nonce}:00000001:{}:auth:{}", hex(compute(&*a1)), self.cnonce, hex(a2))))
    }
}

fn hex(digest: Digest) -> String {
    format!("{digest:x}")
}

/// What can be said in ISO 8859-1 is hashed in it.
fn latin(text: &str, to: &mut Vec<u8>) {
    let narrow = |c: char| u8::try_from(u32::from(c)).ok();
    match text.chars().all(|c| narrow(c).is_some()) {
        true => to.extend(text.chars().filter_map(narrow)),
        false => to.extend_from_slice(text.as_bytes()),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// `key=value` pairs between commas; a value may be quoted. Of several with one key the first counts.
fn parse(challenge: &[u8]) -> Result<BTreeMap<String, String>, &'static str> {
    const UNREADABLE: &str = "the server's challenge cannot be read (sasl)";
    if challenge.len() > LONGEST_CHALLENGE {
        return Err(UNREADABLE);
    }
    let text = std::str::from_utf8(challenge).map_err(|_| UNREADABLE)?;
    let mut found = BTreeMap::new();
    let mut rest = text.chars().peekable();
    loop {
        while rest.next_if(|c| *c == ',' || c.is_ascii_whitespace()).is_some() {}
        if rest.peek().is_none() {
            return Ok(found);
        }
        let mut key = String::new();
        loop {
            match rest.next() {
                Some('=') => break,
                Some(c) if c != ',' => key.push(c),
                _ => return Err(UNREADABLE),
            }
        }
        let mut value = String::new();
        if rest.next_if_eq(&'"').is_some() {
            loop {
                match rest.next() {
                    Some('"') => break,
                    Some('\\') => value.push(rest.next().ok_or(UNREADABLE)?),
                    Some(c) => value.push(c),
                    None => return Err(UNREADABLE),
                }
            }
        } else {
            while let Some(c) = rest.next_if(|c| *c != ',') {
                value.push(c);
            }
        }
        found.entry(key.trim().to_ascii_lowercase()).or_insert_with(|| value.trim().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_leaves_no_copy_behind() {
        // So long that a buffer which grows would have to grow in the middle of the password.
        let (realm, mut client) = ("zk-sasl-md5".repeat(9), exchange());
        client.password = Zeroizing::new("planted-hunter2 and much more than that".to_owned());
        let proof = || _ = client.proof(&realm, "nonce", ":");
        assert_eq!(crate::tls::freed::holding(b"planted-hunter2", proof), 0);
    }

    fn exchange() -> DigestMd5 {
        DigestMd5::new("me", "secret", "OA6MHXh6VqTrRk".to_owned())
    }

    /// The examples of RFC 2831, section 4, which are for other services.
    #[test]
    fn the_exchanges_of_the_rfc_are_these() {
        for (uri, nonce, cnonce, response, rspauth) in [
            (
                "imap/elwood.innosoft.com",
                "OA6MG9tEQGm2hh",
                "OA6MHXh6VqTrRk",
                "d388dad90d4bbd760a152321f2143af7",
                "ea40f60335c427b5527b84dbabcdfffd",
            ),
            (
                "acap/elwood.innosoft.com",
                "OA9BSXrbuRhWay",
                "OA9BSuZWMSpW8m",
                "6084c6db3fede7352c551284490fd0fc",
                "2f0b3d7c3c2e486600ef710726aa2eae",
            ),
        ] {
            let mut client = DigestMd5::new("chris", "secret", cnonce.to_owned());
            client.uri = uri;
            let challenge = format!(
                "realm=\"elwood.innosoft.com\",nonce=\"{nonce}\",qop=\"auth\",algorithm=md5-sess,charset=utf-8"
            );
            let Ok(DigestStep::Send(sent)) = client.step(challenge.as_bytes()) else { panic!("no response") };
            let said = parse(&sent).expect("it can be read");
            assert_eq!((&*said["response"], &*said["digest-uri"]), (response, uri));
            assert_eq!(client.step(format!("rspauth={rspauth}").as_bytes()), Ok(DigestStep::Done));
        }
    }

    #[test]
    fn who_knows_the_password_is_believed_and_nobody_else() {
        let challenge = b"realm=\"zk-sasl-md5\",nonce=\"ab\\\"c\",charset=utf-8,algorithm=md5-sess";
        let mut client = exchange();
        let Ok(DigestStep::Send(response)) = client.step(challenge) else { panic!("no response") };
        let said = parse(&response).expect("it can be read");
        assert_eq!((&*said["username"], &*said["nonce"], &*said["digest-uri"]), ("me", "ab\"c", URI));
        assert_eq!(said["response"], client.proof("zk-sasl-md5", "ab\"c", "AUTHENTICATE:"));
        let proof = format!("rspauth={}", client.proof("zk-sasl-md5", "ab\"c", ":"));
        assert_eq!(client.step(proof.as_bytes()), Ok(DigestStep::Done));
        let mut client = exchange();
        client.step(challenge).expect("a response");
        assert!(client.step(b"rspauth=d388dad90d4bbd760a152321f2143af7").is_err());
    }

    #[test]
    fn challenges_of_a_hostile_server_are_refused_and_end() {
        for challenge in [
            &b"nonce=\"\\\"\\\""[..],
            b"nonce=\"a\\",
            b"nonce",
            b"=",
            b"algorithm=md5-sess",
            b"nonce=a,qop=auth-conf",
            b"nonce=a,algorithm=md5",
            b"\xff",
            &[b','; 3000],
            &[b'\\'; 2000],
        ] {
            assert!(exchange().step(challenge).is_err(), "{challenge:?}");
        }
    }
}
