"""Texts that are put into pages to check that they stay text."""

# Texts that would become script, elements or the end of one if they were not kept as texts.
TEXTS = [
    "</script><script>throw 1</script>", "<img src=x onerror=throw(1)>", "</title><script>throw 1</script>", "<!--", "-->",
    "<script>", "<svg onload=throw(1)>", "<b onmouseover=throw(1)>", "&lt;script&gt;", "&#60;script>", "javascript:throw(1)",
    "'+throw(1)+'", "`${(()=>{throw 1})()}`", "\\u003cscript>", "]]><script>", "<style>*{display:none}</style>",
    "<iframe srcdoc='<script>parent.x=1</script>'>", "<base href=http://example.invalid/>", "<meta http-equiv=refresh content=0>",
    "</div></body></html>",
]
