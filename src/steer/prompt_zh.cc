// SPDX-License-Identifier: Apache-2.0
#include "steer/prompt_text.h"

namespace rudder::steer {
namespace {

constexpr std::array<PromptText::Help, 2> kHelps = {
    {{"skip", "缓冲区保持不变"}, {"replace", "用最常缺失的行换掉久未使用的行"}}};

}  // namespace

const PromptText& prompt_zh() {
  static constexpr PromptText kText = {
      .language = "zh",
      .role = "你负责调节分布式训练的远程数据行缓冲区。请选择能让后续训练步最快的动作。",
      .actions = "动作：",
      .figures =
          "命中：在缓冲区中找到的请求行；流量：取来的行；停顿：等待的时间；陈旧：缓冲区中未被请求的行。",
      .form =
          R"(每行描述一个窗口。请回答：{"decision": "<动作>", "reason": "<几个字>", "expected": {"hits": "<increase|decrease|stagnant>", "traffic": "<increase|decrease|stagnant>"}})",
      .thought = "先在 <think> 和 </think> 之间思考，最多五句话。",
      .history = "已作的决定，最早的在前",
      .hits = "命中",
      .traffic = "流量",
      .owners = "上一窗口",
      .note = "备注",
      .noted = "收到。",
      .held = "动作",
      .metrics = {"命中", "流量", "额外", "停顿", "同步", "链路", "就绪", "陈旧", "新行", "倾斜", "延迟",
                  "剩余"},
      .levels = {"低", "中", "高"},
      .falling = "下降",
      .rising = "上升",
      .changed = "变化",
      .directions = {"下降", "不变", "上升"},
      .comma = "，",
      .semicolon = "；",
      .colon = "：",
      .helps = kHelps,
  };
  return kText;
}

}  // namespace rudder::steer
