//! Who may do what: identities, permissions and the rules for access control lists.

use crate::wire::{Acl, Code};
use base64::Engine as _;
use std::sync::Arc;

pub const READ: i32 = 1;
pub const WRITE: i32 = 2;
pub const CREATE: i32 = 4;
pub const DELETE: i32 = 8;
pub const ADMIN: i32 = 16;
pub const ALL: i32 = 31;

/// An identity a connection has proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub scheme: String,
    pub id: String,
}

impl Identity {
    pub fn new(scheme: &str, id: impl Into<String>) -> Self {
        Identity { scheme: scheme.to_owned(), id: id.into() }
    }
}

/// Everybody may do this much.
pub fn world(perms: i32) -> Arc<[Acl]> {
    Arc::new([Acl { perms, scheme: "world".into(), id: "anyone".into() }])
}

/// The digest ZooKeeper stores for `user:password`: `user:base64(sha1("user:password"))`.
///
/// ```
/// assert_eq!(zkrecipes_embedded::digest("super:test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
/// ```
pub fn digest(user_and_password: &str) -> String {
    digest_bytes(user_and_password.as_bytes())
}

pub(crate) fn digest_bytes(credentials: &[u8]) -> String {
    let hash = sha1_smol::Sha1::from(credentials).digest().bytes();
    let user = credentials.split(|b| *b == b':').next().unwrap_or_default();
    format!("{}:{}", String::from_utf8_lossy(user), base64::engine::general_purpose::STANDARD.encode(hash))
}

/// Whether one of the identities is granted one of the permissions.
pub fn allowed(acl: &[Acl], perm: i32, ids: &[Identity]) -> bool {
    if acl.is_empty() || ids.iter().any(|i| i.scheme == "super") {
        return true;
    }
    acl.iter().filter(|a| a.perms & perm != 0).any(|a| match a.scheme.as_str() {
        "world" => a.id == "anyone",
        "ip" => ids.iter().any(|i| i.scheme == "ip" && ip_matches(&i.id, &a.id)),
        "digest" => ids.iter().any(|i| i.scheme == "digest" && i.id == a.id),
        _ => false,
    })
}

/// Fails with NoAuth unless [`allowed`].
pub fn check(acl: &[Acl], perm: i32, ids: &[Identity]) -> Result<(), Code> {
    if allowed(acl, perm, ids) { Ok(()) } else { Err(Code::NoAuth) }
}

/// Checks a list a client wants to set, and replaces `auth` by the identities of that client.
pub fn fix_up(acl: &[Acl], ids: &[Identity]) -> Result<Arc<[Acl]>, Code> {
    // Nearly every node is open to everybody: do not copy its list.
    if let [a] = acl
        && a.scheme == "world"
        && a.id == "anyone"
    {
        return Ok(world_shared(a.perms));
    }
    let mut seen: Vec<&Acl> = Vec::new();
    let mut fixed = Vec::new();
    for a in acl {
        if seen.contains(&a) {
            continue;
        }
        seen.push(a);
        match a.scheme.as_str() {
            "world" if a.id == "anyone" => fixed.push(a.clone()),
            "auth" => {
                let mine = ids.iter().filter(|i| i.scheme == "digest");
                let before = fixed.len();
                fixed.extend(mine.map(|i| Acl {
                    perms: a.perms,
                    scheme: i.scheme.clone(),
                    id: i.id.clone(),
                }));
                if fixed.len() == before {
                    return Err(Code::InvalidAcl);
                }
            }
            "digest" if is_digest(&a.id) => fixed.push(a.clone()),
            "ip" if parse_network(&a.id).is_some() => fixed.push(a.clone()),
            _ => return Err(Code::InvalidAcl),
        }
    }
    if fixed.is_empty() { Err(Code::InvalidAcl) } else { Ok(fixed.into()) }
}

fn world_shared(perms: i32) -> Arc<[Acl]> {
    thread_local! {
        static OPEN: Arc<[Acl]> = world(ALL);
    }
    if perms == ALL { OPEN.with(Arc::clone) } else { world(perms) }
}

/// A list as it is shown to somebody without ADMIN: digests hide their hash.
pub fn masked(acl: &[Acl]) -> Vec<Acl> {
    acl.iter()
        .map(|a| match (a.scheme.as_str(), a.id.split_once(':')) {
            ("digest", Some((user, _))) => Acl { id: format!("{user}:x"), ..a.clone() },
            _ => a.clone(),
        })
        .collect()
}

/// Java's `split(":").length == 2`, which forgets trailing empty parts.
fn is_digest(id: &str) -> bool {
    let mut parts: Vec<&str> = id.split(':').collect();
    while parts.last().is_some_and(|p| p.is_empty()) {
        parts.pop();
    }
    parts.len() == 2
}

/// An IPv4 address with a number of leading bits, as `ip` lists name it.
fn parse_network(expression: &str) -> Option<(u32, u32)> {
    let (address, bits) = match expression.split_once('/') {
        Some((address, bits)) => (address, bits.parse::<u32>().ok().filter(|b| *b <= 32)?),
        None => (expression, 32),
    };
    let parts: Vec<u8> = address.split('.').map(|p| p.parse().ok()).collect::<Option<_>>()?;
    let octets: [u8; 4] = parts.try_into().ok()?;
    Some((u32::from_be_bytes(octets), bits))
}

fn ip_matches(id: &str, expression: &str) -> bool {
    let (Some((network, bits)), Some((address, _))) = (parse_network(expression), parse_network(id)) else {
        return false;
    };
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    network & mask == address & mask
}
