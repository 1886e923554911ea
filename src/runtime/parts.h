#pragma once
// Which values of a segment being bound lie inside others: outputs that show a part of their input,
// inputs that are written into their part of an output at once. A step whose parts all lie there
// moves nothing. Not lifetimes of plain views and in-place outputs: the plan has chosen those.

#include "runtime/run_state.h"

namespace switchyard {

// Decides for the steps [first_step, end_step) of the segment, which are prepared; alters their
// requests, SegmentBinding::placed and outside, and Frame::part_views.
void NestParts(const Plan& plan, RunState& state, Frame& frame, SegmentBinding& segment,
               std::int32_t first_step, std::int32_t end_step);

// Whether parts may be laid into the output although its memory comes with each Run.
bool MayHoldParts(const Step& step, const PlanValue& output);

}  // namespace switchyard
