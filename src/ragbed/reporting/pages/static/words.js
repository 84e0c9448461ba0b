/* The texts of the interface in English and Chinese.
 *
 * `say("Documents")` returns a text in the selected language. The English text is the key, and `{0}` is a placeholder.
 * Texts that are not in the list are data and are shown unchanged.
 */

const ZH = {
  "Question": "问题",
  "Answer": "标准答案",
  "False answer": "错误答案",
  "Expected": "应有的回答",
  "answer": "回答",
  "refuse": "拒答",
  "correct the error in the documents": "指出文档有误并给出正确答案",
  "Documents": "文档",
  "No documents were given.": "未提供文档。",
  "The model searched for passages itself. The results are listed with each turn.": "模型自行检索段落，检索结果列在各轮中。",
  "Prompt as sent": "实际发送的提示词",
  "Response": "回答",
  "Reasoning": "思考过程",
  "Verdicts": "判定",
  "Scorer": "计分方式",
  "Score": "得分",
  "robust": "稳健",
  "code": "原版代码",
  "paper": "论文",
  "verdict": "判定",
  "correct": "正确",
  "partial": "部分正确",
  "incorrect": "错误",
  "refused": "拒答",
  "flagged": "指出错误",
  "flag-only": "仅指出错误",
  "empty": "空回答",
  "unscored": "无法评分",
  "unsure": "无法确定",
  "misled": "被误导",
  "ok": "已回答",
  "error": "出错",
  "yes": "是",
  "no": "否",
  "none": "无",
  "Evidence": "依据",
  "Rule": "规则",
  "Text span in the response": "回答中的片段",
  "Error types": "错误类型",
  "Judges": "裁判模型",
  "judge": "裁判模型",
  "criterion": "评判标准",
  "latency": "延迟",
  "tokens": "token",
  "{0} in, {1} out": "输入 {0}，输出 {1}",
  "cost": "费用",
  "attempts": "尝试次数",
  "finish reason": "结束原因",
  "reasoning tokens": "思考 token 数",
  "raised token limit": "提高后的 token 上限",
  "served model": "实际提供服务的模型",
  "cached": "来自缓存",
  "repeat {0}": "第 {0} 次重复",
  "The provider's content filter blocked the response.": "回答被服务商的内容过滤拦截。",
  "The call failed: {0}": "调用失败：{0}",
  "The response is empty.": "回答为空。",
  "The response was truncated before it gave an answer.": "回答在给出答案之前被截断。",
  "truncated": "被截断",
  "filtered": "被过滤",
  "supports": "支持",
  "not labelled": "未标注",
  "distracts": "干扰",
  "contradicts": "矛盾",
  "from another question": "取自其他问题",
  "gold answer": "标准答案",
  "repeated in the response": "回答复述的内容",
  "false answer": "错误答案",
  "cue": "关键措辞",
  "evidence": "错误依据",
  "Long-distance information": "信息相距过远",
  "Evidence uncertainty": "证据不确定",
  "Concept confusion": "概念混淆",
  "Merging": "合并类错误",
  "Ignoring": "忽略类错误",
  "Misalignment": "错位类错误",
  "Over-trust of false documents": "轻信错误文档",
  "False refusal": "误拒",
  "Generation failure": "没有可用的回答",
  "part {0}": "第 {0} 个子问题",
  "closed book": "闭卷",
  "search tool": "检索工具",
  "end-to-end RAG": "端到端 RAG",
  "Retrieved passages: {0}": "系统检索到 {0} 个段落",
  "Calls: {0}": "调用：{0} 次",
  "Turns: {0}": "轮次：{0}",
  "Search": "检索",
  "Evidence not found": "未检索到依据",
  "Poor query": "查询不当",
  "Found but ignored": "找到依据但未采用",
  "Trusted a false passage": "轻信错误段落",
  "Stopped early": "过早停止检索",
  "Searched too long": "过度检索",
  "turn-limit": "达到轮次上限",
  "call-limit": "达到检索次数上限",
  "invalid-calls": "连续无效调用",
  "unknown": "未知",
  "noise {0}": "噪声 {0}",
  "noise {0} (actual {1})": "噪声 {0}（实际 {1}）",
  "{0} documents": "{0} 篇文档",
  "Cases": "用例",
  "Search questions": "搜索问题",
  "All": "全部",
  "Model": "模型",
  "Data": "数据",
  "Language": "语言",
  "English": "英文",
  "Chinese": "中文",
  "Testbed": "评测任务",
  "Noise": "噪声",
  "Verdict": "判定",
  "Error type": "错误类型",
  "{0} of {1} trials": "{0} / {1} 条记录",
  "Previous": "上一个",
  "Next": "下一个",
  "Back to the list": "返回列表",
  "No results to show yet.": "尚无可显示的结果。",
  "No matches. Remove a filter.": "没有符合条件的用例，请减少筛选条件。",
  "no documents": "无文档",
  "The same question": "同一问题",
  "More": "更多",
  "Keys": "快捷键",
  "Light/dark theme": "浅色/深色主题",
  "Close": "关闭",
  "The server is not responding: {0}": "服务器没有响应：{0}",
  "Keyboard: j and k move through the list, Esc goes back, / searches.": "快捷键：j、k 前后移动，Esc 返回，/ 搜索。",
  "This browser cannot unpack the cases. Use a newer browser.": "此浏览器无法解压用例，请使用较新的浏览器。",
};

let chosen = "en";

/** Select the language: `zh…` is Chinese, everything else English. */
export function speak(language) {
  chosen = String(language ?? "").toLowerCase().startsWith("zh") ? "zh" : "en";
  document.documentElement.lang = chosen === "zh" ? "zh-Hans" : "en";
}

/** Return the selected language. */
export function spoken() {
  return chosen;
}

/** Add the texts of one page to the list. */
export function learn(words) {
  Object.assign(ZH, words);
}

/** Return a text of the interface, with `{0}`, `{1}` … filled in. */
export function say(english, ...values) {
  const known = chosen === "zh" && Object.hasOwn(ZH, english) ? ZH[english] : english;
  return known.replace(/\{(\d)\}/g, (_, place) => String(values[Number(place)] ?? ""));
}
