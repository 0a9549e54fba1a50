"""A model as a module of torch: trained further there, connections stay as they are."""

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn.functional import cross_entropy

from cofire import SparseMLPClassifier
from cofire.export import to_torch, write_torch

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
model = SparseMLPClassifier(max_iter=10, random_state=0).fit(X, y)

module = to_torch(model)
n_weights = sum(p.numel() for name, p in module.named_parameters() if "weights" in name)
print(f"{n_weights} weights for {model.n_connections_} connections")

rows, labels = torch.tensor(X), torch.tensor(y)
tests, test_labels = torch.tensor(X_test), torch.tensor(y_test)
print(f"accuracy {(module(tests).argmax(1) == test_labels).float().mean():.3f}")
optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
for _ in range(20):
    loss = sum(cross_entropy(scores, labels) for scores in module.scores(rows))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"trained further: {(module(tests).argmax(1) == test_labels).float().mean():.3f}")

# As files that need torch and safetensors, not cofire: digits.py, digits.safetensors.
print(write_torch(model, "digits.py", X=X_test, y=y_test))
