//! Which descriptor an event is about. The recorder itself cannot be linked: its symbols
//! shadow those of the C library.

#[path = "../src/registrations.rs"]
mod registrations;

use registrations::{descriptor, note};

#[test]
fn a_word_leads_to_the_descriptor_that_had_it_last() {
    assert_eq!(descriptor(3, 0x5000), None);
    note(3, 7, 0x5000);
    note(4, 8, 0x5000);
    assert_eq!(descriptor(3, 0x5000), Some(7));
    assert_eq!(descriptor(4, 0x5000), Some(8));
    // The block of a closed connection is that of the next one.
    note(3, 5, 0x5000);
    assert_eq!(descriptor(3, 0x5000), Some(5));
    note(3, 5, 0x6000);
    assert_eq!(descriptor(3, 0x5000), Some(7));
    note(3, 6, 0x7000);
    note(3, 8, 0x7000);
    assert_eq!(descriptor(3, 0x7000), Some(8));
    note(3, 9, 9);
    assert_eq!(descriptor(3, 9), Some(9));
    note(3, 9, 7);
    assert_eq!(descriptor(3, 9), None);
    assert_eq!(descriptor(3, 7), Some(9));
}
