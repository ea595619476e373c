//! The four letter words that operators send instead of a handshake.

/// Those that a server knows.
pub const WORDS: [&[u8; 4]; 14] = [
    b"ruok", b"srvr", b"stat", b"mntr", b"cons", b"dump", b"wchs", b"isro", b"envi", b"conf", b"wchp",
    b"wchc", b"crst", b"srst",
];

/// Whether the first four bytes of a connection are a word, not the length of a frame.
pub fn is_word(prefix: [u8; 4]) -> bool {
    WORDS.contains(&&prefix)
}
