//! What the readable log says about sessions.

use crate::machine::Note;

pub(crate) fn sentence(note: Note) -> String {
    match note {
        Note::SessionOpened { session, conn, timeout } => {
            format!("session 0x{session:x} opened on connection {conn}, timeout {} ms", timeout.as_millis())
        }
        Note::SessionResumed { session, conn } => {
            format!("session 0x{session:x} resumed on connection {conn}")
        }
        Note::SessionRefused { session, conn } => {
            format!(
                "session 0x{session:x} refused on connection {conn}: it has expired, or the password is wrong"
            )
        }
        Note::SessionClosed { session } => format!("session 0x{session:x} closed by its client"),
        Note::SessionExpired { session } => format!("session 0x{session:x} expired"),
    }
}
