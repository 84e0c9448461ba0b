"""Evaluate a LlamaIndex retriever: ragbed run -m factory/llamaindex_rag:make -d qa.csv --docs handbook."""

from pathlib import Path

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from local_model import chat  # in your system: any LLM class of LlamaIndex
from own_rag import make_search  # in your system: VectorStoreIndex.from_documents(…).as_retriever()

PROMPT = "Answer from these documents.\n\n{context}\n\nQuestion: {question}"


def make(folder: Path) -> object:
    """Index the documents in a folder, and return a function that answers questions from them."""
    search = make_search(folder)

    class Retriever(BaseRetriever):
        def _retrieve(self, query: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(text=text)) for _, text in search(query.query_str, 4)]

    def answer(question: str) -> dict[str, object]:
        texts = [node.get_content() for node in Retriever().retrieve(question)]
        return {"answer": chat(PROMPT.format(context="\n".join(texts), question=question)), "contexts": texts}

    return answer
