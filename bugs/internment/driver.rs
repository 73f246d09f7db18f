//! Two threads intern equal strings and drop them.

use internment::ArcIntern;

fn main() {
    let take = || drop(ArcIntern::new(String::from("shared")));
    std::thread::scope(|scope| {
        scope.spawn(take);
        scope.spawn(take);
    });
}
