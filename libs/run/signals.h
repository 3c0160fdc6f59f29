// Signals of a run: a request to stop is a flag that the engine looks at, so that what was staged is removed by ordinary code.
#ifndef CK_RUN_SIGNALS_H_
#define CK_RUN_SIGNALS_H_

namespace ck::run {

// SIGINT, SIGTERM and SIGHUP set the flag, except where the parent had them ignored (nohup, background jobs). SIGPIPE and SIGXFSZ are
// ignored: a closed pipe and a file size limit become errors of the call that meets them. Call once, before any thread is started.
void InstallSignalHandlers();

// The number of the first signal that asked to stop, or 0.
int StopSignal();
inline bool StopRequested() { return StopSignal() != 0; }

// Throws Error run.interrupted when a stop was requested. Its code is 128 + StopSignal(), the exit code of an interrupted run.
void ThrowIfStopped();

}  // namespace ck::run

#endif  // CK_RUN_SIGNALS_H_
