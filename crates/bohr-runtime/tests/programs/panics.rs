//! A panic that somebody catches, in a thread.

fn main() {
    let result = std::thread::spawn(|| panic!("on purpose")).join();
    assert!(result.is_err());
}
