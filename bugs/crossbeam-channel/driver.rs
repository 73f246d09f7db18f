//! Two threads send the first messages of a channel while its receiver goes.

fn main() {
    let (sender, receiver) = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        for number in 0..2 {
            let sender = sender.clone();
            scope.spawn(move || sender.send(number));
        }
        drop(receiver);
    });
}
