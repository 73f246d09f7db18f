//! A value is sent over a channel that has been closed while its receiver looks.

fn main() {
    let (sender, mut receiver) = tokio::sync::oneshot::channel::<Box<u32>>();
    receiver.close();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(sender.send(Box::new(1))));
        scope.spawn(|| drop(receiver.try_recv()));
    });
}
