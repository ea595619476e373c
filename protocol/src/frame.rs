//! Where frames end in what a connection brings.

/// A length that no frame may have: the connection is not to be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oversized;

/// The first frame of `bytes`, without its length, and how many bytes it took with it; `None` if it has not all arrived.
/// Frames are shorter than `limit`.
pub fn frame_at(bytes: &[u8], limit: usize) -> Result<Option<(&[u8], usize)>, Oversized> {
    let Some((prefix, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let length = frame_length(*prefix, limit)?;
    Ok(rest.get(..length).map(|frame| (frame, 4 + length)))
}

/// How many bytes follow the four that a frame begins with, for whoever reads exactly those. Frames are shorter than `limit`.
pub fn frame_length(prefix: [u8; 4], limit: usize) -> Result<usize, Oversized> {
    usize::try_from(i32::from_be_bytes(prefix)).ok().filter(|length| *length < limit).ok_or(Oversized)
}
