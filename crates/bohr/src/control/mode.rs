//! How a program is controlled, in words: of what is built with bohr its accesses, of
//! everything else its calls.

use super::libraries::names;
use bohr_explore::Target;
use bohr_explore::bug_file::ControlMode;

/// Says so on standard error.
pub fn say(target: &Target) {
    let names = names(target).join(", ");
    match target.identity.mode {
        ControlMode::Accesses { .. } => {
            eprintln!("bohr: controls the program at its memory accesses and calls");
            if !names.is_empty() {
                eprintln!("bohr: and at those of its shared libraries {names}");
            }
        }
        ControlMode::Calls if names.is_empty() => eprintln!(
            "bohr: the program was not built with bohr: controls it at thread, lock, I/O and time calls"
        ),
        ControlMode::Calls => eprintln!(
            "bohr: the program was not built with bohr, its shared libraries {names} were: controls \
             these at their memory accesses, and all at thread, lock, I/O and time calls"
        ),
    }
}
