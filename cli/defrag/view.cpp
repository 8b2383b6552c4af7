#include "base/json.hpp"
#include "base/one_line.hpp"
#include "base/units.hpp"
#include "cli/defrag/defrag.hpp"
#include "cli/format.hpp"
#include "cli/table.hpp"

namespace tangram::cli {

namespace {

/// "1 card", "0.3 cards", "2.5 cards".
std::string cards_text(std::int64_t milli) {
  std::string number = std::to_string(milli / 1000);
  if (milli % 1000 != 0) number += share_text(MilliGpu(milli % 1000)).substr(1);
  return number + (milli == 1000 ? " card" : " cards");
}

std::string full_name(const cluster::PodName& pod) { return pod.ns + "/" + pod.name; }

std::string moves_table(const Screen& screen, const Defrag& defrag, bool wide) {
  Table table({{.name = "MOVE", .right = true},
               {.name = "POD", .may_shrink = true},
               {.name = "GRANT"},
               {.name = "FROM", .may_shrink = true},
               {.name = "TO", .may_shrink = true},
               {.name = "CARDS THERE", .may_shrink = true, .prose = true, .dispensable = 1}});
  std::size_t number = 0;
  for (const Defrag::Move& move : defrag.moves) {
    table.add({std::to_string(++number), full_name(move.pod), grant_text(move.from.containers),
               move.from.node, move.to.node, card_names(cards_of(move.to.containers), wide)});
  }
  return table.text(screen);
}

std::string runs_table(const Screen& screen, const Defrag& defrag, bool wide) {
  Table table({{.name = "AFTER MOVE", .right = true},
               {.name = "RUNS", .may_shrink = true},
               {.name = "REQUEST"},
               {.name = "NODE", .may_shrink = true},
               {.name = "CARDS", .may_shrink = true, .prose = true, .dispensable = 1}});
  for (const Defrag::Run& run : defrag.runs) {
    table.add({std::to_string(run.after), full_name(run.pod), run.request, run.seat.node,
               card_names(cards_of(run.seat.containers), wide)});
  }
  return table.text(screen);
}

/// What there is to say of pods that wait and are not planned for.
std::string others_text(const Screen& screen, const Defrag& defrag) {
  std::string text;
  const auto say = [&](const std::string& sentence) { text += in_lines(screen, sentence) + "\n"; };
  if (defrag.fit_already > 0) {
    say(counted(defrag.fit_already, "waiting pod") + " fit as things are, and need no move");
  }
  for (const Defrag::LeftOut& pod : defrag.left_out) {
    say(one_line(full_name(pod.pod) + " is left out: " + pod.why));
  }
  if (defrag.cut_short) say("not everything was looked at: there may be better plans");
  return text;
}

std::string summary(const Defrag& defrag) {
  if (defrag.waiting == 0) return "no pod waits for a card: nothing to do";
  if (defrag.waiting == defrag.fit_already) return "no waiting pod needs a move: nothing to do";
  if (defrag.moves.empty() && !defrag.helpless()) return "no moves can be planned for these pods";
  if (defrag.moves.empty() && defrag.cut_short) return "no plan was found in time";
  if (defrag.moves.empty()) return "no move of pods that may move lets a waiting pod run";
  return counted(defrag.runs.size(), "waiting pod") + " would run, with " +
         cards_text(defrag.gained_milli) + "; " + counted(defrag.moves.size(), "pod") +
         " would move, with " + cards_text(defrag.moved_milli);
}

void write_pod(json::Writer& out, const cluster::PodName& pod) {
  out.member("namespace", pod.ns).member("name", pod.name).member("uid", pod.uid);
}

void write_seat(json::Writer& out, const Seat& seat) {
  out.begin_object().member("node", seat.node).key("containers").begin_array();
  for (const model::ContainerGrant& container : seat.containers) {
    out.begin_object().member("name", container.container).key("cards").begin_array();
    for (const model::GrantedCard& card : container.cards) {
      out.begin_object().member("uuid", card.uuid).member("memMiB", card.memory.count());
      out.member("milli", card.compute.count()).end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().end_object();
}

}  // namespace

std::string draw_defrag(const Screen& screen, const Defrag& defrag, bool wide) {
  std::string text;
  if (!defrag.moves.empty()) {
    text += moves_table(screen, defrag, wide) + "\n" + runs_table(screen, defrag, wide) + "\n";
  }
  if (const std::string others = others_text(screen, defrag); !others.empty())
    text += others + "\n";
  return text + paint(screen.style, defrag.helpless() ? kBad : kGood, summary(defrag));
}

std::string defrag_json(const Defrag& defrag, const std::optional<cluster::MoveProgress>& outcome) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("moves").begin_array();
  for (const Defrag::Move& move : defrag.moves) {
    out.begin_object();
    write_pod(out, move.pod);
    write_seat(out.key("from"), move.from);
    write_seat(out.key("to"), move.to);
    out.end_object();
  }
  out.end_array().key("runs").begin_array();
  for (const Defrag::Run& run : defrag.runs) {
    out.begin_object();
    write_pod(out, run.pod);
    out.member("request", run.request);
    write_seat(out.key("to"), run.seat);
    out.member("afterMoves", static_cast<std::int64_t>(run.after)).end_object();
  }
  out.end_array().key("leftOut").begin_array();
  for (const Defrag::LeftOut& pod : defrag.left_out) {
    out.begin_object();
    write_pod(out, pod.pod);
    out.member("why", pod.why).end_object();
  }
  out.end_array().member("waiting", static_cast<std::int64_t>(defrag.waiting));
  out.member("fitAlready", static_cast<std::int64_t>(defrag.fit_already));
  out.member("gainedMilli", defrag.gained_milli).member("movedMilli", defrag.moved_milli);
  out.member("cutShort", defrag.cut_short);
  if (outcome) {
    out.key("run").begin_object().member("state", to_string(outcome->state));
    out.member("evicted", static_cast<std::int64_t>(outcome->evicted));
    out.member("placed", static_cast<std::int64_t>(outcome->placed));
    out.member("message", outcome->message).end_object();
  }
  out.end_object();
  return text;
}

}  // namespace tangram::cli
