// The theme looks for every word of a query as the beginning of a word, so that "a" finds "api" and "arguments".
// Small words are left out of what it asks its index; a query of nothing else stays as it is.
const small = /^(a|an|and|are|as|at|be|by|can|do|does|for|from|how|i|if|in|is|it|its|my|no|not|of|on|or|that|the|this|to|what|when|where|which|who|why|with)$/i
const send = Worker.prototype.postMessage
const QUERY = 2 // the type of a message of the theme (SearchMessageType)
Worker.prototype.postMessage = function (message, ...rest) {
  if (message?.type === QUERY) {
    const words = message.data.split(" ").filter((word) => !small.test(word))
    if (words.length) message = { ...message, data: words.join(" ") }
  }
  return send.call(this, message, ...rest)
}
