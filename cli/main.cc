// The program `trireme`: hands the words and the world to the verbs.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "cli/command.h"
#include "cli/commands/commands.h"

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  // For the programs we start: waiting threads sleep. Spinning ones take the core from those they
  // wait for as soon as there are more threads than free cores, which made generating text 50 times
  // slower on a busy machine.
  setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  std::error_code error;
  trireme::Context context{std::cout, std::cerr};
  context.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  const char* const coordinator = std::getenv("TRIREME_COORDINATOR");
  if (coordinator != nullptr) context.coordinator = coordinator;
  context.program_folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
  context.current_folder = std::filesystem::current_path(error).string();
  const int code =
      trireme::RunCommandLine({argv + 1, argv + argc}, trireme::AllCommands(), context);
  std::cout.flush();
  return code;
}
