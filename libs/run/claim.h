// The exclusive right to write one name: an output directory or a marker file. Private to libs/run.
//
// Made of mkdir and rename only, so it holds on NFS and needs no lock daemon (protocol in claim.cc).
//
// Errors.  publish.claimed (kPrecondition): another process has the claim; the message names it.
//          publish.claim_lost (kEnvironment): someone removed the claim while we held it.
#ifndef CK_RUN_CLAIM_H_
#define CK_RUN_CLAIM_H_

#include <memory>
#include <string>
#include <vector>

namespace ck::run {

class Claim {
 public:
  // Claims `name` in the existing `directory`. A claim whose owner is certainly gone is taken over; one whose owner lives, or may live, gives
  // publish.claimed at once.
  static std::unique_ptr<Claim> Take(const std::string& directory, const std::string& name);
  // Releases. What cannot be removed is left to Gc.
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // The id in the hidden names of what this owner writes.
  const std::string& id() const { return id_; }

  // Removes what dead owners of this name left behind; staged checkpoints stay. Returns the paths removed.
  std::vector<std::string> Sweep();
  // The same where a failure must not stop the work at hand. Returns "" or one line about what could not be removed.
  std::string TrySweep() noexcept;
  // Throws publish.claim_lost unless the claim still stands.
  void CheckHeld() const;
  // False when it could not be removed: harmless, a later run or Gc finds the owner gone.
  bool Release() noexcept;

  // True when a directory `.NAME.ck-new-ID` belongs to nobody that may be alive.
  static bool NewClaimIsStale(const std::string& path);

 private:
  Claim(std::string directory, std::string name);
  bool Prepare();
  bool TakeOver();

  std::string directory_;
  std::string name_;
  std::string id_;
  std::string claim_path_;
  std::string record_;  // the name of the entry inside the claim directory
  bool held_ = false;
};

}  // namespace ck::run

#endif  // CK_RUN_CLAIM_H_
