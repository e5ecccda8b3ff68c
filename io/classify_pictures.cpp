#include "io/classify_pictures.hpp"

#include "vit/token_counts.hpp"

namespace vit::io {

BulkTimes classify_pictures(const std::shared_ptr<const Classifier>& classifier, InputSequence& inputs,
                            const BulkOptions& options, const std::function<void(Answer)>& sink) {
  validate_merge(classifier->info().config, options.merge);
  const auto make_worker = [&](BusyClock& network) {
    auto session = std::make_shared<ClassifierSession>(
        classifier, ClassifierSessionOptions{&network, options.merge, options.attach});
    return BulkWorker<Answer>{[&, session](std::vector<Input> group, int cores) {
                                return session->classify(std::move(group), options.top_k, cores);
                              },
                              [session] { return session->take_times(); }};
  };
  return run_bulk<Answer>(inputs, {options.cores, options.batch, options.stop}, make_worker, sink);
}

}  // namespace vit::io
