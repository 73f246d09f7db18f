//! One thread fails to initialise a value while another waits for it.

fn main() {
    let once = spin::Once::<u32>::new();
    std::thread::scope(|scope| {
        scope.spawn(|| once.try_call_once(|| Err(())).is_err());
        scope.spawn(|| assert_eq!(*once.call_once(|| 7), 7));
    });
}
