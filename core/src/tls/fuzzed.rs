//! Files of certificates and keys with anything in them.

use super::pem;

/// A file.
pub(crate) fn sections(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let kinds = ["CERTIFICATE", "PRIVATE KEY", "X509 CRL"];
    for section in pem::sections(&text, &kinds).flatten() {
        assert!(kinds.contains(&section.kind) && section.der.len() <= text.len());
    }
}
