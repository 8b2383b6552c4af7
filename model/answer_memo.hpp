#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tangram::model {

/// Answers in a table of few places, one place for each question: the latest pushes out the one
/// that was there, which is asked again. The table grows, and forgets all, once many were pushed
/// out in one walk: it is to suffice for a walk, not for all that was ever asked.
/// @tparam Key   a default one is no key that is asked about
/// @tparam Hash  of a key to 64 well mixed bits
/// Threads: one at a time.
template <class Key, class Answer, class Hash>
class AnswerMemo {
 public:
  /// It has 2^few_bits places at first, and 2^most_bits at most.
  AnswerMemo(unsigned few_bits, unsigned most_bits) : bits_(few_bits), most_bits_(most_bits) {}

  /// @param ask  finds the answer; is called unless it is known
  template <class Ask>
  [[nodiscard, gnu::always_inline]] Answer answer(const Key& key, Ask&& ask) {
    if (places_.empty()) forget_all();
    Place& place = places_[static_cast<std::size_t>(Hash()(key) >> (64U - bits_))];
    if (place.key == key) [[likely]]
      return place.answer;
    return fill(place, key, ask);
  }

  /// What is known is kept.
  void begin_walk() { pushed_out_ = 0; }
  [[nodiscard]] std::size_t places() const { return places_.size(); }

  void forget_all() {
    pushed_out_ = 0;
    places_.assign(std::size_t{1} << bits_, Place());
  }

 private:
  struct Place {
    Key key{};
    Answer answer{};
  };

  template <class Ask>
  [[gnu::noinline]] Answer fill(Place& place, const Key& key, Ask& ask) {
    const Answer answer = ask();
    if (place.key != Key()) ++pushed_out_;
    place = {.key = key, .answer = answer};
    if (pushed_out_ > places_.size() / 8) grow();
    return answer;
  }

  void grow() {
    constexpr unsigned kAtATime = 2;
    if (bits_ == most_bits_) return;
    const unsigned bits = std::min(bits_ + kAtATime, most_bits_);
    places_ = std::vector<Place>(std::size_t{1} << bits);  // may throw, so it comes first
    bits_ = bits;
    pushed_out_ = 0;
  }

  std::vector<Place> places_;  ///< empty before the first answer
  unsigned bits_;              ///< that choose one of them
  unsigned most_bits_;
  std::size_t pushed_out_ = 0;  ///< answers, of this walk
};

}  // namespace tangram::model
